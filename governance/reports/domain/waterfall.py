"""Where the paid bandwidth went: one amount divided without losing a cent.

What was paid for time without a reading is *no data*; known time without activity is *idle*; of
the active time the measured share is *used* and the rest goes to the cause that the diagnosis
names. Only avoidable causes are losses: bandwidth left over by work that the card's arithmetic
limits was bought for that arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from governance.kernel.money import Money, split
from governance.kernel.reasons import N_

PARTS = (
    "idle",
    "starved",
    "link_bound",
    "over_provisioned",
    "compute_bound",
    "capacity_bound",
    "unclear",
    "no_data",
    "used",
)
AVOIDABLE = ("idle", "starved", "link_bound", "over_provisioned")
NAMES = {
    "idle": N_("Idle"),
    "starved": N_("Starved"),
    "link_bound": N_("Link-bound"),
    "over_provisioned": N_("Over-provisioned"),
    "compute_bound": N_("Compute-bound"),
    "capacity_bound": N_("Bought for memory"),
    "unclear": N_("Cause not known"),
    "no_data": N_("No data"),
    "used": N_("Used"),
}

PART_OF_ROW = {
    2: "idle",
    3: "starved",
    4: "link_bound",
    6: "compute_bound",
    7: "compute_bound",
    8: "capacity_bound",
    11: "over_provisioned",
    12: "over_provisioned",
}
"""Where the rest of active time goes by the diagnosis' row; rows not named here are unclear."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of paid time with one diagnosis. Shares are 0..1 of the stretch: `coverage` known,
    `active` of the known time, `share` of bandwidth over that active time; `cause` takes the rest
    of the active time (one of PARTS)."""

    paid: Decimal
    coverage: float
    active: float | None
    share: float | None
    cause: str = "unclear"


def weights(slice_: Slice) -> dict[str, Fraction]:
    """The shares of the stretch that each part gets; they add up to exactly one."""
    if slice_.active is None or (slice_.active and slice_.share is None):
        return {"no_data": Fraction(1)}
    known = min(Fraction(1), Fraction(slice_.coverage))
    active = known * Fraction(slice_.active)
    used = active * Fraction(slice_.share or 0)
    found = {"no_data": 1 - known, "idle": known - active, "used": used}
    found[slice_.cause] = found.get(slice_.cause, Fraction(0)) + active - used
    return {part: weight for part, weight in found.items() if weight}


def divide(slices: Iterable[Slice], currency: str) -> dict[str, Decimal]:
    """The paid amounts by part, in the order of PARTS; the parts add up to what was paid."""
    totals = dict.fromkeys(PARTS, Decimal(0))
    for slice_ in slices:
        if not slice_.paid:
            continue
        shares = weights(slice_)
        parts = split(Money(slice_.paid, currency), list(shares.values()), list(shares))
        for part, amount in parts.items():
            totals[part] += amount.amount
    return totals


def avoidable(parts: Mapping[str, Decimal]) -> Decimal:
    """What a decision could save: idle to over-provisioned."""
    return sum((parts.get(part, Decimal(0)) for part in AVOIDABLE), Decimal(0))
