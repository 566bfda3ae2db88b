"""How many cards to commit to: exact for any demand.

Demand is how many cards were in use in each hour. The k-th card is in use in those hours in which
at least k cards are, and a card more can only be used less: so each level decides for itself, and
the cheapest plan of every level together is the cheapest mix there is (no search, no heuristic).
A monthly unit is decided month by month, an annual one over the whole window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from governance.kernel.money import round_exact

Plan = Literal["annual", "monthly", "hourly"]


@dataclass(frozen=True, slots=True)
class Prices:
    """Of one card: the hourly price, the fee of a month, the price of a year. None: not offered."""

    hourly: Decimal
    monthly: Decimal | None = None
    annual: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Month:
    """A stretch of demand by the hour that one monthly fee pays (or a `share` of the fee, for a
    stretch that is not a whole month)."""

    demand: Sequence[int]
    share: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Level:
    """The k-th card: its hours in each month, what it costs each way, the cheapest of them."""

    number: int
    hours: tuple[int, ...]
    plan: Plan
    cost: Fraction
    hourly_cost: Fraction
    monthly_in: tuple[bool, ...]

    @property
    def used(self) -> int:
        return sum(self.hours)


@dataclass(frozen=True, slots=True)
class Mix:
    """The cheapest mix over the window. `monthly` counts units per month, `hours` the window;
    costs are exact, `places` rounds them for people."""

    levels: tuple[Level, ...]
    hours: int
    annual: int
    monthly: tuple[int, ...]
    cost: Fraction
    all_hourly: Fraction
    committed_hours: int
    committed_used: int
    used_hours: int

    @property
    def saving(self) -> Fraction:
        return self.all_hourly - self.cost

    @property
    def utilisation(self) -> Fraction | None:
        """Committed hours in use / committed hours."""
        return Fraction(self.committed_used, self.committed_hours) if self.committed_hours else None

    @property
    def coverage(self) -> Fraction | None:
        """Hours in use that a commitment pays / hours in use."""
        return Fraction(self.committed_used, self.used_hours) if self.used_hours else None

    @property
    def always_monthly(self) -> int:
        """Monthly units that pay in every month of the window: what can be advised ahead."""
        return min(self.monthly, default=0)


def cheapest_mix(months: Sequence[Month], prices: Prices, *, top: int | None = None) -> Mix:
    """The mix of annual, monthly and hourly cards with the lowest cost over the months.

    An annual unit costs a twelfth of its price for every whole month. `top` limits the levels
    looked at (default: the highest demand). Ties go to the shorter commitment.
    """
    highest = max((max(month.demand, default=0) for month in months), default=0)
    levels = [
        _level(k, [_hours_at(m.demand, k) for m in months], months, prices)
        for k in range(1, (highest if top is None else top) + 1)
    ]
    sizes = [len(month.demand) for month in months]
    committed = committed_used = 0
    for level in levels:
        for size, used, monthly in zip(sizes, level.hours, level.monthly_in, strict=True):
            if level.plan == "annual" or monthly:
                committed += size
                committed_used += used
    return Mix(
        levels=tuple(levels),
        hours=sum(sizes),
        annual=sum(level.plan == "annual" for level in levels),
        monthly=tuple(sum(level.monthly_in[i] for level in levels) for i in range(len(months))),
        cost=sum((level.cost for level in levels), Fraction(0)),
        all_hourly=sum((level.hourly_cost for level in levels), Fraction(0)),
        committed_hours=committed,
        committed_used=committed_used,
        used_hours=sum(level.used for level in levels),
    )


def _hours_at(demand: Sequence[int], k: int) -> int:
    return sum(1 for cards in demand if cards >= k)


def _level(k: int, hours: list[int], months: Sequence[Month], prices: Prices) -> Level:
    hourly = [Fraction(prices.hourly) * used for used in hours]
    costs, picked = [], []
    for month, by_hour in zip(months, hourly, strict=True):
        fee = None if prices.monthly is None else Fraction(prices.monthly) * month.share
        better = fee is not None and fee < by_hour
        picked.append(better)
        costs.append(fee if better and fee is not None else by_hour)
    cost, plan = sum(costs, Fraction(0)), "monthly" if any(picked) else "hourly"
    if prices.annual is not None:
        share = sum((month.share for month in months), Fraction(0))
        annual = Fraction(prices.annual) / 12 * share
        if annual < cost:
            cost, plan, picked = annual, "annual", [False] * len(months)
    return Level(
        number=k,
        hours=tuple(hours),
        plan=plan,  # type: ignore[arg-type]
        cost=cost,
        hourly_cost=sum(hourly, Fraction(0)),
        monthly_in=tuple(picked),
    )


def cost_of(months: Sequence[Month], prices: Prices, *, annual: int, monthly: int) -> Fraction:
    """What the demand costs with so many annual and, in every month, monthly units."""
    whole = Fraction(0)
    for month in months:
        over = sum(max(0, cards - annual - monthly) for cards in month.demand)
        whole += Fraction(prices.hourly) * over
        whole += Fraction(prices.monthly or 0) * monthly * month.share
        whole += Fraction(prices.annual or 0) / 12 * annual * month.share
    return whole


@dataclass(frozen=True, slots=True)
class Advice:
    """What to commit to: the smaller quantity of a short and a long look back."""

    annual: int
    monthly: int
    short: Mix
    long: Mix


def advise(short: Sequence[Month], long: Sequence[Month], prices: Prices) -> Advice:
    """Commit only as far as both windows agree."""
    near, far = cheapest_mix(short, prices), cheapest_mix(long, prices)
    annual = min(near.annual, far.annual)
    total = min(near.annual + near.always_monthly, far.annual + far.always_monthly)
    return Advice(annual=annual, monthly=max(0, total - annual), short=near, long=far)


@dataclass(frozen=True, slots=True)
class Backtest:
    """Yesterday's advice against today's demand, beside all hourly and the best in hindsight."""

    annual: int
    monthly: int
    cost: Fraction
    all_hourly: Fraction
    hindsight: Fraction

    @property
    def saved(self) -> Fraction:
        """Negative where following the advice would have cost more than renting by the hour."""
        return self.all_hourly - self.cost


def backtest(
    before: Sequence[Month], after: Sequence[Month], prices: Prices, *, short: int = 1
) -> Backtest:
    """Advice from the months before (its last `short` ones as the near window), cost after."""
    advice = advise(before[-short:], before, prices)
    best = cheapest_mix(after, prices)
    return Backtest(
        annual=advice.annual,
        monthly=advice.monthly,
        cost=cost_of(after, prices, annual=advice.annual, monthly=advice.monthly),
        all_hourly=best.all_hourly,
        hindsight=best.cost,
    )


def money(value: Fraction, places: int = 2) -> Decimal:
    """An exact cost as an amount."""
    return round_exact(value, places)
