"""Closed days made small, and made rows again where something reaches back into them.

Packing a day and writing into it exclude each other by an advisory lock on the day: writers share
it, the packer holds it alone for a few cards at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

import polars as pl
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from governance.plumbing.copy import copy_csv
from governance.telemetry.domain.columns import STORED
from governance.telemetry.domain.packing import COLUMNS, pack, unpack
from governance.telemetry.models import DirtyHour, PackedDay
from governance.telemetry.models.samples import MINUTES

CLOSED_AFTER = timedelta(days=2)
"""How long after its end a UTC day is packed."""

CARDS = 50
"""Cards packed in one transaction."""

_LOCK = "hashtextextended('telemetry-day', %s)"


def pack_closed(*, now: datetime, most: int = 20_000) -> int:
    """Pack up to `most` card-days of closed days that need no roll-up; returns how many."""
    last = int((now - CLOSED_AFTER).timestamp()) // 86_400 - 1
    done = 0
    with connection.cursor() as cursor:
        days = [start // MINUTES.span for start in MINUTES.existing(cursor)]
    for day in (day for day in days if day <= last):
        while done < most and (packed := _pack_some(day)):
            done += packed
        _empty(day)
    return done


def _pack_some(day: int) -> int:
    table = MINUTES.name(day * MINUTES.span)
    hours = range(day * 24, day * 24 + 24)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_LOCK})", [day])
        if DirtyHour.objects.filter(hour__gte=hours.start, hour__lt=hours.stop).exists():
            return 0
        cursor.execute(f"SELECT DISTINCT card_id FROM {table} ORDER BY 1 LIMIT %s", [CARDS])
        cards = [card for (card,) in cursor.fetchall()]
        if not cards:
            return 0
        cursor.execute(
            f"DELETE FROM {table} WHERE card_id = ANY(%s) RETURNING {', '.join(STORED)}", [cards]
        )
        rows = pl.DataFrame(cursor.fetchall(), schema=_schema(), orient="row").sort(
            "card_id", "minute"
        )
        PackedDay.objects.bulk_create(
            PackedDay(card_id=int(card), day=day, minutes=part.height, body=pack(part))
            for (card,), part in rows.partition_by(
                "card_id", as_dict=True, include_key=False
            ).items()
        )
        return len(cards)


def _schema() -> dict[str, pl.DataType]:
    empty = unpack(pack(pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.Int64))))
    return {"card_id": pl.Int32(), **empty.schema}


def _empty(day: int) -> None:
    """Give the space of a wholly packed day back."""
    table = MINUTES.name(day * MINUTES.span)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock({_LOCK})", [day])
        cursor.execute(
            f"SELECT NOT EXISTS (SELECT 1 FROM {table}) AND pg_relation_size(%s) > 0", [table]
        )
        if cursor.fetchone()[0]:
            cursor.execute(f"TRUNCATE {table}")


def put_back(cursor: CursorWrapper, cards: Collection[int], days: Iterable[int]) -> int:
    """Before something reaches into days: hold off the packer and make packed minutes of the
    cards rows again; returns how many card-days. In the caller's transaction."""
    wanted = sorted(set(days))
    for day in wanted:
        cursor.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})", [day])
    cursor.execute(
        "DELETE FROM telemetry_packedday WHERE day = ANY(%s) AND card_id = ANY(%s)"
        " RETURNING card_id, day, body",
        [wanted, sorted(cards)],
    )
    found = cursor.fetchall()
    MINUTES.ensure(cursor, (day * MINUTES.span for _, day, _ in found))
    for card, day, body in found:
        rows = unpack(bytes(body)).with_columns(card_id=pl.lit(card, pl.Int32)).select(STORED)
        text = rows.write_csv(include_header=False).encode()
        copy_csv(cursor, MINUTES.name(day * MINUTES.span), STORED, [text])
    return len(found)
