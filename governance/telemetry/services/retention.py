"""How long each level is kept: minutes 35 days, hours 400 days, days for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from governance.plumbing.partitions import Partitions
from governance.telemetry.models import DirtyDay, DirtyHour, Kept, PackedDay
from governance.telemetry.models.samples import HOURS, MINUTES

MINUTES_KEPT = timedelta(days=35)
HOURS_KEPT = timedelta(days=400)


def keep(*, now: datetime) -> list[str]:
    """Make the partitions of today and tomorrow, drop those past keeping; returns the dropped.

    A partition of minutes with an hour still to be rolled up stays, and one of hours with a day
    to be.
    """
    dropped: list[str] = []
    with transaction.atomic(), connection.cursor() as cursor:
        minute = int(now.timestamp()) // 60
        MINUTES.ensure(cursor, [minute, minute + 1440])
        HOURS.ensure(cursor, [minute // 60, minute // 60 + 24])
        before = int((now - MINUTES_KEPT).timestamp()) // 60
        waiting = DirtyHour.objects.order_by("hour").values_list("hour", flat=True).first()
        if waiting is not None:
            before = min(before, waiting * 60)
        dropped += _drop(cursor, "minutes", MINUTES, before)
        PackedDay.objects.filter(day__lt=MINUTES.start(before) // 1440).delete()
    with transaction.atomic(), connection.cursor() as cursor:
        before = int((now - HOURS_KEPT).timestamp()) // 3600
        day = DirtyDay.objects.order_by("day").values_list("day", flat=True).first()
        if day is not None:
            waits = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
            before = min(before, int(waits.timestamp()) // 3600)
        dropped += _drop(cursor, "hours", HOURS, before)
    return dropped


def _drop(cursor: CursorWrapper, level: str, partitions: Partitions, before: int) -> list[str]:
    first = partitions.start(before)
    names = partitions.drop_before(cursor, first)
    if names:
        since = datetime.fromtimestamp(first * 86_400 // partitions.per_day, UTC)
        Kept.objects.update_or_create(level=level, defaults={"since": since})
    return names
