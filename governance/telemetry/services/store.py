"""Rows into partitions: straight COPY, and the merge for rows that clash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl
from django.db import IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper

from governance.plumbing.copy import copy_csv
from governance.telemetry.domain.columns import STORED
from governance.telemetry.models import Kept
from governance.telemetry.models.samples import MINUTES
from governance.telemetry.services.packing import put_back

CHUNK = 20_000
"""Rows encoded at a time while the server takes in the ones before."""

OPEN_HOUR_WAIT = timedelta(seconds=60)
"""An hour still under way is rolled up again at most so often."""

_KEYS = ("card_id", "minute")
_RANK = "(samples, source, agent, epoch, seq)"
_VALUES = ", ".join(STORED)
_UPDATES = ", ".join(f"{name} = new.{name}" for name in STORED if name not in _KEYS)


@dataclass
class Outcome:
    """Rows that were there already, that lost or that won against another, by delivery."""

    repeated: Counter[int] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)
    clashes: Counter[int] = field(default_factory=Counter)


def store_rows(rows: pl.DataFrame) -> Outcome:
    """Store rows (columns STORED and `delivery`) once; the current transaction goes on."""
    outcome = Outcome()
    if not rows.height:
        return outcome
    keyed = rows.with_columns(day=pl.col("minute") // MINUTES.span)
    days = {int(key[0]): part for key, part in keyed.partition_by("day", as_dict=True).items()}
    with connection.cursor() as cursor:
        MINUTES.ensure(cursor, (day * MINUTES.span for day in days))
        put_back(cursor, rows["card_id"].unique().to_list(), days)
        for day in sorted(days):
            part = days[day]
            table = MINUTES.name(day * MINUTES.span)
            try:
                with transaction.atomic():
                    copy_csv(cursor, table, STORED, _csv(part, STORED))
            except IntegrityError:
                _merge(cursor, table, part, outcome)
    return outcome


def _csv(rows: pl.DataFrame, columns: tuple[str, ...]) -> Iterator[bytes]:
    """CSV in chunks; the next is encoded while the server stores the one before."""
    for start in range(0, rows.height, CHUNK):
        part = rows.slice(start, CHUNK).select(columns)
        yield part.write_csv(include_header=False).encode()


def _merge(cursor: CursorWrapper, table: str, rows: pl.DataFrame, outcome: Outcome) -> None:
    """Store rows some of whose minutes are taken: the greater rank stays."""
    cursor.execute("DROP TABLE IF EXISTS incoming")
    cursor.execute(
        f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
        f" SELECT {_VALUES}, 0 AS delivery FROM {MINUTES.table} WITH NO DATA"
    )
    columns = (*STORED, "delivery")
    copy_csv(cursor, "incoming", columns, _csv(rows, columns))
    cursor.execute(
        "CREATE TEMPORARY TABLE ranked ON COMMIT DROP AS"
        " SELECT i.*, s.agent, s.epoch, row_number() OVER (PARTITION BY card_id, minute"
        ' ORDER BY samples DESC, source DESC, agent COLLATE "C" DESC, epoch COLLATE "C" DESC,'
        " seq DESC) AS place FROM incoming i JOIN telemetry_stream s ON s.id = i.stream_id"
    )
    cursor.execute(
        f"WITH pairs AS (SELECT n.card_id, n.minute, n.delivery,"
        f" (n.stream_id, n.seq) = (o.stream_id, o.seq) AS same,"
        f' (n.samples, n.source, n.agent COLLATE "C", n.epoch COLLATE "C", n.seq)'
        f' > (o.samples, o.source, s.agent COLLATE "C", s.epoch COLLATE "C", o.seq) AS wins'
        f" FROM ranked n JOIN {table} o USING (card_id, minute)"
        f" JOIN telemetry_stream s ON s.id = o.stream_id WHERE n.place = 1),"
        f" changed AS (UPDATE {table} o SET {_UPDATES} FROM ranked new, pairs p"
        f" WHERE new.place = 1 AND p.wins AND o.card_id = p.card_id AND o.minute = p.minute"
        f" AND new.card_id = p.card_id AND new.minute = p.minute)"
        f" SELECT delivery, count(*) FILTER (WHERE same), count(*) FILTER (WHERE NOT same"
        f" AND NOT wins), count(*) FILTER (WHERE NOT same) FROM pairs GROUP BY delivery"
    )
    for delivery, repeated, lost, clashes in cursor.fetchall():
        outcome.repeated[delivery] += repeated
        outcome.lost[delivery] += lost
        outcome.clashes[delivery] += clashes
    cursor.execute("SELECT delivery, count(*) FROM ranked WHERE place > 1 GROUP BY delivery")
    for delivery, lost in cursor.fetchall():
        outcome.lost[delivery] += lost
        outcome.clashes[delivery] += lost
    cursor.execute(
        f"INSERT INTO {table} ({_VALUES}) SELECT {_VALUES} FROM ranked WHERE place = 1"
        f" ON CONFLICT (card_id, minute) DO NOTHING"
    )
    cursor.execute("DROP TABLE ranked, incoming")


def mark_dirty(rows: pl.DataFrame, now: datetime) -> None:
    """Mark the hours of the rows; a finished hour is due at once, one under way a little later."""
    hours = rows.select("card_id", hour=pl.col("minute") // 60).unique().sort("hour", "card_id")
    if not hours.height:
        return
    current = int(now.timestamp()) // 3600
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO telemetry_dirtyhour (card_id, hour, due_at)"
            " SELECT c, h, CASE WHEN h < %s THEN %s ELSE %s END::timestamptz"
            " FROM unnest(%s::int[], %s::int[]) AS k(c, h)"
            " ON CONFLICT (card_id, hour) DO UPDATE"
            " SET due_at = LEAST(telemetry_dirtyhour.due_at, EXCLUDED.due_at)",
            [
                current,
                now,
                now + OPEN_HOUR_WAIT,
                hours["card_id"].to_list(),
                hours["hour"].to_list(),
            ],
        )


def closed_hours(rows: pl.DataFrame) -> pl.DataFrame | None:
    """The hours of the rows that were rolled up and whose minutes were dropped, or None."""
    kept = Kept.objects.filter(level="minutes").first()
    if kept is None or not rows.height:
        return None
    since = int(kept.since.timestamp()) // 60
    old = (
        rows.filter(pl.col("minute") < since)
        .select("card_id", hour=pl.col("minute") // 60)
        .unique()
    )
    if not old.height:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT k.c, k.h FROM unnest(%s::int[], %s::int[]) AS k(c, h) WHERE EXISTS"
            " (SELECT 1 FROM telemetry_usagehour u WHERE u.card_id = k.c AND u.hour = k.h)"
            " OR EXISTS (SELECT 1 FROM telemetry_usageday d WHERE d.card_id = k.c"
            " AND d.day = (to_timestamp(k.h * 3600.0) AT TIME ZONE d.timezone)::date)",
            [old["card_id"].to_list(), old["hour"].to_list()],
        )
        found = cursor.fetchall()
    if not found:
        return None
    return pl.DataFrame(found, schema={"card_id": pl.Int32, "hour": pl.Int32}, orient="row")
