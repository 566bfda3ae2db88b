"""Working hours: weekdays 9 to 18 local time, less public holidays, plus make-up workdays."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, tzinfo

OPENS, CLOSES = time(9), time(18)
_LONGEST = 400
"""Days looked ahead; a calendar that is closed that long is a mistake in its data."""


def is_working(day: date, exceptions: Mapping[date, bool]) -> bool:
    """What the calendar says of the day, else Monday to Friday."""
    return exceptions.get(day, day.weekday() < 5)


def after_hours(
    start: datetime, hours: float, tz: tzinfo, exceptions: Mapping[date, bool]
) -> datetime:
    """The instant at which `hours` working hours have passed since `start`.

    Only time between opening and closing on working days counts. ValueError when the calendar
    has no working day within 400 days.

    >>> from zoneinfo import ZoneInfo
    >>> zone = ZoneInfo("Asia/Shanghai")
    >>> friday = datetime(2026, 11, 27, 17, tzinfo=zone)
    >>> after_hours(friday, 2, zone, {}).astimezone(zone).isoformat()
    '2026-11-30T10:00:00+08:00'
    """
    left = timedelta(hours=hours)
    day = start.astimezone(tz).date()
    for _ in range(_LONGEST):
        if is_working(day, exceptions):
            opens = datetime.combine(day, OPENS, tz)
            closes = datetime.combine(day, CLOSES, tz)
            begin = max(opens, start)
            if begin + left <= closes:
                return begin + left
            left -= max(closes - begin, timedelta(0))
        day += timedelta(days=1)
    raise ValueError(f"no working day within {_LONGEST} days of {start:%F}")


def working_hours_between(
    start: datetime, end: datetime, tz: tzinfo, exceptions: Mapping[date, bool]
) -> float:
    """Working hours from `start` to `end`; 0 where the end lies before the start."""
    total = timedelta(0)
    day, last = start.astimezone(tz).date(), end.astimezone(tz).date()
    while day <= last:
        if is_working(day, exceptions):
            begin = max(datetime.combine(day, OPENS, tz), start)
            stop = min(datetime.combine(day, CLOSES, tz), end)
            total += max(stop - begin, timedelta(0))
        day += timedelta(days=1)
    return total / timedelta(hours=1)
