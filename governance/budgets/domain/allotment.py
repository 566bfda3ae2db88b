"""How an amount that covers a stretch of time is divided over the budgets of that time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import TypeVar

from governance.kernel.money import Money, split
from governance.kernel.periods import Period

K = TypeVar("K", bound=Hashable)


def allot(money: Money, period: Period, budgets: Mapping[K, Period]) -> dict[K, Money]:
    """The whole amount over the budgets that overlap the period, by the time they share with it.

    Time that no budget covers is not left out of account: its part falls on the budgets there
    are, so that a hold is never smaller than what was approved. Empty if none overlaps. No cent
    is lost (largest remainder, ties to the smaller key).
    """
    shared = {key: period.overlap(budget) for key, budget in budgets.items()}
    weights = {key: common.hours for key, common in shared.items() if common is not None}
    if not weights:
        return {}
    places = max(0, -int(money.amount.as_tuple().exponent))
    return split(money, list(weights.values()), list(weights), places)


def take(wanted: Decimal, left: Mapping[K, Decimal], first: K | None) -> dict[K, Decimal]:
    """What is taken from several reserves to cover `wanted`: from `first`, then in order.

    Never more than is left in each; what they cannot cover is simply not taken.
    """
    order = sorted(left, key=lambda key: (key != first, list(left).index(key)))
    taken: dict[K, Decimal] = {}
    for key in order:
        part = min(wanted, left[key])
        if part > 0:
            taken[key] = part
            wanted -= part
    return taken
