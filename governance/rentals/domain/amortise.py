"""Amortisation: a charge spread over the local days that it pays for."""

from __future__ import annotations

from datetime import date, timedelta, tzinfo
from decimal import Decimal

from governance.kernel.money import Money, split
from governance.kernel.periods import Period, cut, local_date

PLACES = 8


def by_day(money: Money, period: Period, tz: tzinfo) -> dict[date, Decimal]:
    """The amount over the local days of the period, weighted by the time in each.

    Parts have eight decimals and add up to the amount (largest remainder, ties to the earlier
    day); a short or long day of a clock change weighs what it lasts.
    """
    first = local_date(period.start, tz)
    if local_date(period.end - timedelta(microseconds=1), tz) == first:
        return {first: money.amount}
    days = list(cut(period, "day", tz))
    keys = [local_date(day.start, tz) for day in days]
    parts = split(money, [day.hours for day in days], keys, PLACES)
    return {day: part.amount for day, part in parts.items()}


def by_month(money: Money, period: Period, tz: tzinfo, places: int) -> dict[date, Decimal]:
    """The amount over the local months of the period, at so many decimals, adding up to it."""
    months = list(cut(period, "month", tz))
    keys = [local_date(month.start, tz).replace(day=1) for month in months]
    parts = split(money, [month.hours for month in months], keys, places)
    return {month: part.amount for month, part in parts.items()}
