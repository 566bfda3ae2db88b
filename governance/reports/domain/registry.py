"""What a key figure is, and the registry that holds them all (filled by `kpis`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from governance.kernel.money import round_exact
from governance.kernel.reasons import N_

LOW = 0.30
"""The share of the sources' rule: cards under it are to be changed for smaller ones."""

ENOUGH = 0.70
"""Coverage from which a figure counts as complete."""


@dataclass(frozen=True, slots=True)
class Kpi:
    """A key figure. `formula` is printed as it stands; `coverage` says from when it counts."""

    key: str
    name: str
    formula: str
    unit: str
    window: str
    coverage: str
    function: Callable[..., Any]
    example: tuple[Mapping[str, Any], Any]
    version: int = 1
    source: str = ""


KPIS: dict[str, Kpi] = {}

ANY = N_("any period")
MEASURED = N_("complete from 70 % of the rented minutes on, else marked incomplete")
BOOKED = N_("counts every posted charge; needs no telemetry")
BOTH = N_("cost of measured cards only; cards without a reading are named and left out")


def kpi(
    key: str,
    name: str,
    formula: str,
    unit: str,
    *,
    example: tuple[Mapping[str, Any], Any],
    window: str = ANY,
    coverage: str = MEASURED,
    source: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the registry under its key."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if key in KPIS:
            raise RuntimeError(f"two key figures named {key}")
        KPIS[key] = Kpi(
            key, name, formula, unit, window, coverage, function, example, source=source
        )
        return function

    return register


def ratio(part: float, whole: float) -> float | None:
    """part / whole, None where there is no whole."""
    return part / whole if whole else None


def quotient(part: Decimal, whole: Decimal, places: int = 6) -> Decimal | None:
    """part / whole of money or hours at so many places, None where there is no whole."""
    if not whole:
        return None
    return round_exact(Fraction(part) / Fraction(whole), places)
