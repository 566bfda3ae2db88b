"""Routes of the catalogue: open to everybody who is signed in, changed by operators."""

from __future__ import annotations

from typing import Any

from governance.catalog.services import seed_catalogue
from governance.kernel.policy import SYSTEM
from tests.matrix.shapes import EVERYBODY, Route

OPERATES: dict[str, Any] = {"allow": {"operator"}, "forbidden": EVERYBODY}
CARD = "a800-80gb-sxm4"
SHEET = "sku,region,card,cards_per_unit,currency,hourly\na,cn,RTX 4090,1,CNY,3.2\n"


def prepare(world: Any) -> None:
    """The packaged cards."""
    seed_catalogue(actor=SYSTEM)


def card(world: Any) -> list[Any]:
    return [CARD]


def sheet(world: Any) -> dict[str, Any]:
    return {"vendor": "AutoDL", "format": "native", "form": "native", "text": SHEET}


def figure(world: Any) -> dict[str, Any]:
    return {"figure": "bandwidth_gbs", "value": "2000", "reference": "copy test"}


ROUTES = [
    Route("api:card-models"),
    Route("api:card-model", args=card),
    Route("api:offers"),
    Route("api:price-sheets", "POST", data=sheet, **OPERATES),
    Route("catalog:index"),
    Route("catalog:card", args=card),
    Route("catalog:vendors"),
    Route("catalog:offers"),
    Route("catalog:import", **OPERATES),
    Route("catalog:import", "POST", data=sheet, **OPERATES),
    Route("catalog:confirm", "POST", args=card, data=figure, **OPERATES),
]
