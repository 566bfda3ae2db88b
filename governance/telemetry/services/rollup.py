"""Rolling up: dirty hours from minutes, dirty days from hours.

Workers claim dirty rows with SKIP LOCKED and work on disjoint sets; a mark set while its hour is
being rolled waits for that transaction and so survives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from governance.accounts.queries import organisation
from governance.kernel.periods import local_midnight
from governance.telemetry.models.samples import HOURS
from governance.telemetry.services.rollup_sql import days_from_hours, from_minutes

CLAIM = 2_000
"""Hours (or days) rolled in one transaction: well under the 3 s for which writers wait."""

OPEN_DAY_WAIT = timedelta(minutes=10)
"""A day still under way is rolled up again at most so often."""

_HOURS_SQL = from_minutes("telemetry_usagehour", "hour")
_DAYS_SQL = from_minutes("telemetry_usageday", "day", extra="timezone")
_DAYS_FROM_HOURS_SQL = days_from_hours()


def roll_up(*, now: datetime, limit: int = 1_000_000) -> tuple[int, int]:
    """Roll all due hours, then all due days; returns how many of each."""
    hours = days = 0
    while hours < limit and (done := roll_hours(now=now)):
        hours += done
    while days < limit and (done := roll_days(now=now)):
        days += done
    return hours, days


def roll_hours(*, now: datetime, limit: int = CLAIM) -> int:
    """Claim and roll up to `limit` due hours; returns how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        claimed = _claim(cursor, "telemetry_dirtyhour", ("card_id", "hour"), now, limit)
        if not claimed:
            return 0
        cards = [card for card, _ in claimed]
        hours = [hour for _, hour in claimed]
        HOURS.ensure(cursor, hours)
        cursor.execute(
            "DELETE FROM telemetry_usagehour u USING unnest(%s::int[], %s::int[]) AS w(card, hour)"
            " WHERE u.card_id = w.card AND u.hour = w.hour AND u.hour >= %s AND u.hour <= %s",
            [cards, hours, min(hours), max(hours)],
        )
        cursor.execute("SET LOCAL work_mem = '64MB'")
        firsts = [hour * 60 for hour in hours]
        lasts = [hour * 60 + 60 for hour in hours]
        cursor.execute(
            _HOURS_SQL,
            [cards, hours, firsts, lasts, [""] * len(hours), min(firsts), max(lasts)],
        )
        _mark_days(cursor, claimed, now)
        return len(claimed)


def roll_days(*, now: datetime, limit: int = CLAIM) -> int:
    """Claim and roll up to `limit` due days; returns how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        claimed = _claim(cursor, "telemetry_dirtyday", ("card_id", "day", "timezone"), now, limit)
        if not claimed:
            return 0
        cursor.execute(
            "DELETE FROM telemetry_usageday u"
            " USING unnest(%s::int[], %s::date[], %s::text[]) AS w(card, day, zone)"
            " WHERE u.card_id = w.card AND u.day = w.day AND u.timezone = w.zone",
            [list(column) for column in zip(*claimed, strict=True)],
        )
        by_hours: list[tuple[int, date, int, int, str]] = []
        by_minutes: list[tuple[int, date, int, int, str]] = []
        for card, day, zone in claimed:
            first, last = (_minute(local_midnight(d, ZoneInfo(zone))) for d in (day, day + _DAY))
            whole = first % 60 == 0 and last % 60 == 0
            (by_hours if whole else by_minutes).append((card, day, first, last, zone))
        if by_hours:
            _roll(cursor, _DAYS_FROM_HOURS_SQL, by_hours, 60)
        if by_minutes:
            _roll(cursor, _DAYS_SQL, by_minutes, 1)
        return len(claimed)


_DAY = timedelta(days=1)


def _minute(moment: datetime) -> int:
    return int(moment.timestamp()) // 60


def _roll(
    cursor: CursorWrapper,
    sql: str,
    wanted: Sequence[tuple[int, date, int, int, str]],
    minutes_a_step: int,
) -> None:
    cards, days, firsts, lasts, zones = (list(column) for column in zip(*wanted, strict=True))
    firsts = [first // minutes_a_step for first in firsts]
    lasts = [last // minutes_a_step for last in lasts]
    cursor.execute(sql, [cards, days, firsts, lasts, zones, min(firsts), max(lasts)])


def _claim(
    cursor: CursorWrapper, table: str, keys: tuple[str, ...], now: datetime, limit: int
) -> list[tuple]:  # type: ignore[type-arg]
    names = ", ".join(keys)
    order = ", ".join(reversed(keys))
    same = " AND ".join(f"d.{key} = due.{key}" for key in keys)
    cursor.execute(
        f"WITH due AS MATERIALIZED (SELECT {names} FROM {table} WHERE due_at <= %s"
        f" ORDER BY {order} LIMIT %s FOR UPDATE SKIP LOCKED)"
        f" DELETE FROM {table} d USING due WHERE {same}"
        f" RETURNING {', '.join(f'd.{key}' for key in keys)}",
        [now, limit],
    )
    return sorted(cursor.fetchall())


def _zones(cursor: CursorWrapper) -> list[str]:
    cursor.execute("SELECT DISTINCT timezone FROM accounts_team")
    return sorted({zone for (zone,) in cursor.fetchall()} | {organisation().timezone})


def _mark_days(cursor: CursorWrapper, hours: Iterable[tuple[int, int]], now: datetime) -> None:
    """Mark the local days, in each zone in use, that the hours touch."""
    marks = set()
    for zone in _zones(cursor):
        tz = ZoneInfo(zone)
        days: dict[int, set[date]] = {}
        for card, hour in hours:
            if hour not in days:
                start = datetime.fromtimestamp(hour * 3600, UTC)
                ends = start, start + timedelta(minutes=59)
                days[hour] = {moment.astimezone(tz).date() for moment in ends}
            marks |= {(card, day, zone) for day in days[hour]}
    rows = sorted(marks, key=lambda mark: (mark[2], mark[1], mark[0]))
    cards, dates, zones = (list(column) for column in zip(*rows, strict=True))
    dues = [
        now if local_midnight(day + _DAY, ZoneInfo(zone)) <= now else now + OPEN_DAY_WAIT
        for _, day, zone in rows
    ]
    cursor.execute(
        "INSERT INTO telemetry_dirtyday (card_id, day, timezone, due_at)"
        " SELECT * FROM unnest(%s::int[], %s::date[], %s::text[], %s::timestamptz[])"
        " ON CONFLICT (card_id, day, timezone) DO UPDATE"
        " SET due_at = LEAST(telemetry_dirtyday.due_at, EXCLUDED.due_at)",
        [cards, dates, zones, dues],
    )
