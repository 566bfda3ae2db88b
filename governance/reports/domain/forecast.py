"""What a period will have cost at its end: fixed fees from the contract calendar, run-rate only
on what is charged by use. Days in progress are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from statistics import stdev

from governance.kernel.money import round_exact
from governance.kernel.reasons import N_

FEWEST_DAYS = 3
WEEK = 7
P10 = 1.2815515655446004
"""Standard deviations from the median to the tenth percentile of a normal distribution."""

METHODS = {
    "calendar": N_("contract calendar only: not enough days of use yet (fewer than 3)"),
    "run_rate": N_("mean of all full days so far x days left, plus fixed fees"),
    "trailing_7": N_("mean of the last 7 full days x days left, plus fixed fees"),
    "over": N_("the period is over: what was spent"),
    "weekday": N_("mean of the same weekday over the last 4 weeks, plus fixed fees"),
}


@dataclass(frozen=True, slots=True)
class Forecast:
    """An amount at the end of the period with its P10-P90 band; None where it cannot be told."""

    low: Decimal | None
    mid: Decimal | None
    high: Decimal | None
    method: str
    fixed: Decimal
    spent: Decimal
    days_left: int


def forecast(
    *,
    fixed: Decimal,
    daily: Sequence[Decimal],
    days_left: int,
    spent: Decimal | None = None,
    weekday_next: int | None = None,
    places: int = 2,
) -> Forecast:
    """`fixed`: fees of the whole period, paid or due. `daily`: cost by use on each full day seen,
    oldest first (it may reach back before the period). `spent`: cost by use in the period so far
    (default: all of `daily`). `weekday_next`: weekday (0 Monday) of the first day left, needed
    for the weekday method, which starts at 28 days."""
    used = sum(daily, Decimal(0)) if spent is None else spent
    if len(daily) < FEWEST_DAYS and days_left and any(daily):
        return Forecast(None, None, None, "calendar", fixed, used, days_left)
    if weekday_next is not None and len(daily) >= 4 * WEEK:
        method, rest = "weekday", _by_weekday(daily, days_left)
    elif len(daily) >= WEEK:
        method, rest = "trailing_7", _mean(daily[-WEEK:]) * days_left
    else:
        method, rest = "run_rate", _mean(daily) * days_left
    spread = P10 * _deviation(daily[-4 * WEEK :]) * sqrt(days_left)
    mid = Fraction(fixed) + Fraction(used) + rest
    floor = Fraction(fixed) + Fraction(used)
    return Forecast(
        low=round_exact(max(floor, mid - Fraction(spread)), places),
        mid=round_exact(mid, places),
        high=round_exact(mid + Fraction(spread), places),
        method=method,
        fixed=fixed,
        spent=used,
        days_left=days_left,
    )


def _mean(values: Sequence[Decimal]) -> Fraction:
    return sum((Fraction(v) for v in values), Fraction(0)) / len(values) if values else Fraction(0)


def _by_weekday(daily: Sequence[Decimal], days_left: int) -> Fraction:
    """The day left at distance i repeats the mean of the days 7, 14, 21, 28 before it."""
    rest = Fraction(0)
    for i in range(days_left):
        past = [daily[-WEEK * week + i % WEEK] for week in range(1, 5)]
        rest += _mean(past)
    return rest


def _deviation(daily: Sequence[Decimal]) -> float:
    return stdev(float(v) for v in daily) if len(daily) > 1 else 0.0
