"""Periods of time: half-open, kept in UTC, cut by the wall clock of the contract's zone.

A boundary is always computed from the first one (`anchored`), never from the one before: counting
a month at a time from 31 January would drift to the 28th and stay there.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from typing import Literal

Unit = Literal["hour", "day", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = ("hour", "day", "month", "quarter", "year")
_MONTHS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12}
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """The instants from `start` up to but not including `end`; both aware, kept in UTC.

    `ValueError` if a time has no zone or the end does not lie after the start.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            moment: datetime = getattr(self, name)
            if moment.tzinfo is None or moment.utcoffset() is None:
                raise ValueError(f"the {name} of a period needs a time zone, got {moment}")
            object.__setattr__(self, name, moment.astimezone(UTC))
        if self.end <= self.start:
            raise ValueError(f"a period ends after it starts, got {self.start} to {self.end}")

    @property
    def elapsed(self) -> timedelta:
        """The real time between the two instants, clock changes counted."""
        return self.end - self.start

    @property
    def hours(self) -> Fraction:
        return seconds(self.elapsed) / 3600

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def overlap(self, other: "Period") -> "Period | None":
        """The common part, or None."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Period(start, end) if start < end else None


def seconds(delta: timedelta) -> Fraction:
    """A duration in seconds, exact."""
    return Fraction(delta // _MICROSECOND, 1_000_000)


def local_midnight(day: date, tz: tzinfo) -> datetime:
    """The first instant of a local day, in UTC, also where the clock skips or repeats midnight."""
    return datetime.combine(day, time(), tz).astimezone(UTC)


def local_date(moment: datetime, tz: tzinfo) -> date:
    return moment.astimezone(tz).date()


def local_days(period: Period, tz: tzinfo) -> int:
    """How many local days the period touches; a started day counts whole."""
    last = local_date(period.end - _MICROSECOND, tz)
    return (last - local_date(period.start, tz)).days + 1


def add_months(day: date, months: int) -> date:
    """The same day of another month, clamped to that month's last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def anchored(start: datetime, unit: Unit, i: int, tz: tzinfo) -> datetime:
    """The i-th boundary counted from `start`, in UTC; `i` may be negative.

    Hours are elapsed; days, months, quarters and years keep the wall-clock time in `tz`, with the
    day clamped to the month's end: from 31 January 28 Feb, 31 Mar, 30 Apr ... A wall-clock time
    that a clock change skips is read with the offset before the change.
    """
    if i == 0:
        return start.astimezone(UTC)
    if unit == "hour":
        return start.astimezone(UTC) + timedelta(hours=i)
    local = start.astimezone(tz)
    if unit == "day":
        day = local.date() + timedelta(days=i)
    else:
        day = add_months(local.date(), i * _MONTHS[unit])
    return datetime.combine(day, local.time().replace(fold=0), tz).astimezone(UTC)


def index_at(start: datetime, unit: Unit, moment: datetime, tz: tzinfo) -> int:
    """The i for which boundary i <= moment < boundary i+1, counted from `start`."""
    if unit == "hour":
        return (moment - start) // timedelta(hours=1)
    first, local = start.astimezone(tz), moment.astimezone(tz)
    if unit == "day":
        i = (local.date() - first.date()).days
    else:
        months = (local.year - first.year) * 12 + local.month - first.month
        i = months // _MONTHS[unit]
    while anchored(start, unit, i, tz) > moment:
        i -= 1
    while anchored(start, unit, i + 1, tz) <= moment:
        i += 1
    return i


def anchored_periods(start: datetime, unit: Unit, first: datetime, tz: tzinfo) -> Iterator[Period]:
    """The endless run of whole periods counted from `start`, from the one that holds `first`."""
    i = index_at(start, unit, first, tz)
    boundary = anchored(start, unit, i, tz)
    while True:
        i += 1
        following = anchored(start, unit, i, tz)
        yield Period(boundary, following)
        boundary = following


def calendar_start(moment: datetime, unit: Unit, tz: tzinfo) -> datetime:
    """The beginning of the local hour, day, month, quarter or year that holds the moment."""
    local = moment.astimezone(tz)
    if unit == "hour":
        past = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        return moment.astimezone(UTC) - past
    day = local.date()
    if unit == "month":
        day = day.replace(day=1)
    elif unit == "quarter":
        day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    elif unit == "year":
        day = day.replace(month=1, day=1)
    return local_midnight(day, tz)


def calendar_period(moment: datetime, unit: Unit, tz: tzinfo) -> Period:
    """The local hour, day, month, quarter or year that holds the moment."""
    start = calendar_start(moment, unit, tz)
    return Period(start, anchored(start, unit, 1, tz))


def calendar_end(moment: datetime, unit: Unit, tz: tzinfo) -> datetime:
    """The end of the local hour, day, month, quarter or year that holds the moment."""
    if unit == "day":
        return local_midnight(local_date(moment, tz) + timedelta(days=1), tz)
    return anchored(calendar_start(moment, unit, tz), unit, 1, tz)


def cut(period: Period, unit: Unit, tz: tzinfo) -> Iterator[Period]:
    """The period in pieces, cut at the local hours, days, months, quarters or years within it."""
    start = period.start
    while start < period.end:
        end = min(calendar_end(start, unit, tz), period.end)
        yield Period(start, end)
        start = end
