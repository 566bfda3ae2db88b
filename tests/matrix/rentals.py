"""Routes of rentals, previews and closed months."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from governance.kernel.policy import SYSTEM
from governance.matching.codec import to_json
from governance.matching.shapes import RequestSpec
from governance.rentals import services
from governance.requests.models import ComputeRequest
from tests.matrix.shapes import EVERYBODY, INSIDERS, Route
from tests.rentals.make import charge, local, rental

BUYERS: dict[str, Any] = {"allow": {"finance", "operator"}, "forbidden": EVERYBODY}
MANAGERS: dict[str, Any] = {"allow": {"finance", "operator"}, "forbidden": INSIDERS}
CLOSERS: dict[str, Any] = {"allow": {"finance"}, "forbidden": EVERYBODY}


def prepare(world: Any) -> None:
    """A running rental, an approved request of the team, and a closed month."""
    closed = rental(world.house.project, start=local(2025, 1, 5), end=local(2025, 1, 7))
    charge(local(2025, 1, 8), ids=[closed.pk])
    services.close_month(actor=SYSTEM, month=date(2025, 1, 1), now=local(2025, 3, 1))
    world.rental = rental(world.house.project, start=world.now - timedelta(days=3), cards=8)
    world.approved = ComputeRequest.objects.create(
        project=world.house.project,
        requester=world.house.member,
        title="approved",
        state="approved",
        state_since=world.now,
        created_at=world.now,
        starts_at=world.now,
        business_type="fine_tuning",
        spec=to_json(RequestSpec(params_b=7)),
        amount=0,
        package={"idle_id": "1", "count": 1, "units": 1, "card": "h100", "card_name": "H100"},
    )


def one(world: Any) -> list[Any]:
    return [world.rental.pk]


def approved(world: Any) -> list[Any]:
    return [world.approved.pk]


def purchase(world: Any) -> dict[str, Any]:
    return {
        "request": world.approved.pk,
        "plan_kind": "hourly",
        "starts_at": world.now.isoformat(),
    }


def end(world: Any) -> dict[str, Any]:
    later = world.now + timedelta(days=1)
    return {"kind": "end_early", "at": later.isoformat(), "reason": "done"}


ACTS = ("price", "quantity", "extend", "end_early", "stop", "start", "cards", "renewal")

ROUTES = [
    Route("rentals:list"),
    Route("rentals:detail", args=one, allow=INSIDERS),
    *(Route(f"rentals:{act}", "POST", args=one, **MANAGERS) for act in ACTS),
    Route("rentals:preview"),
    Route("rentals:buy", args=approved, note="what an approved request may be bought on", **BUYERS),
    Route("rentals:buy", "POST", args=approved, data=purchase, **BUYERS),
    Route("rentals:months", **CLOSERS),
    Route("rentals:months", "POST", **CLOSERS),
    Route("rentals:month_report", args=lambda w: [2025, 1], **CLOSERS),
    Route("api:rentals"),
    Route("api:rentals", "POST", data=purchase, **BUYERS),
    Route("api:rentals-preview", "POST"),
    Route("api:rentals-compare", "POST"),
    Route("api:rental", args=one, allow=INSIDERS),
    Route("api:rental-charges", args=one, allow=INSIDERS),
    Route("api:rental-preview", args=one, allow=INSIDERS),
    Route("api:rental-changes", args=one, allow=INSIDERS),
    Route("api:rental-changes", "POST", args=one, data=end, **MANAGERS),
    Route(
        "api:rental-parts",
        "POST",
        args=one,
        data=lambda w: {"kind": "fee", "amount": "5"},
        **MANAGERS,
    ),
    Route("api:months", **CLOSERS),
    Route("api:months", "POST", data=lambda w: {"month": "2025-02-01"}, **CLOSERS),
]
