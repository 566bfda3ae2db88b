"""What schedulers say: cards allotted to groups, and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import TruncDate, TruncMonth, TruncWeek

from governance.accounts import queries as accounts
from governance.kernel.periods import Period
from governance.kernel.policy import Actor
from governance.telemetry.models import Job, Occupancy


@dataclass(frozen=True)
class OccupancyRow:
    """Card-seconds that a group owned and was allotted, and how far the record reaches."""

    group: str
    step: object
    owned_seconds: int
    allotted_seconds: int
    rows: int
    first: datetime
    last: datetime


@dataclass(frozen=True)
class JobRow:
    """Jobs of a group; `card_seconds` leaves out jobs whose duration is not known."""

    group: str
    jobs: int
    without_cards: int
    card_seconds: int
    unit: str


def _mine(viewer: Actor, rows: QuerySet[Any]) -> QuerySet[Any]:
    """All for those who see all, else groups named as the viewer's teams."""
    if "see.all" in viewer.abilities():
        return rows
    slugs = accounts.teams_visible_to(viewer).values_list("slug", flat=True)
    return rows.filter(group__in=list(slugs))


def _steps(tz: Any) -> dict[str, Any]:
    return {
        "day": TruncDate("at", tzinfo=tz),
        "week": TruncWeek("at", tzinfo=tz),
        "month": TruncMonth("at", tzinfo=tz),
    }


def occupancy(
    viewer: Actor, *, period: Period, tz: Any, by: str = "group", groups: Sequence[str] = ()
) -> list[OccupancyRow]:
    """Allotted and owned card-time of the period; `by` is group, day, week, month or none."""
    rows = _mine(viewer, Occupancy.objects.filter(at__gte=period.start, at__lt=period.end))
    if groups:
        rows = rows.filter(group__in=groups)
    keys = ["group"] if by == "group" else []
    if by in _steps(tz):
        rows, keys = rows.annotate(step=_steps(tz)[by]), ["step"]
    sums = {
        "owned_sum": Sum(F("owned") * F("seconds")),
        "allotted_sum": Sum(F("allotted") * F("seconds")),
        "count": Count("pk"),
        "first": Min("at"),
        "last": Max("at"),
    }
    found = (
        rows.values(*keys).annotate(**sums).order_by(*keys) if keys else [rows.aggregate(**sums)]
    )
    return [
        OccupancyRow(
            group=row.get("group", ""),
            step=row.get("step"),
            owned_seconds=row["owned_sum"],
            allotted_seconds=row["allotted_sum"],
            rows=row["count"],
            first=row["first"],
            last=row["last"],
        )
        for row in found
        if row["count"]
    ]


def jobs(
    viewer: Actor, *, period: Period, by: str = "group", groups: Sequence[str] = ()
) -> list[JobRow]:
    """Jobs that began in the period (were submitted, where the start is not known); `by` is
    group, person or none."""
    began = Q(started_at__gte=period.start, started_at__lt=period.end) | Q(
        started_at=None, submitted_at__gte=period.start, submitted_at__lt=period.end
    )
    rows = _mine(viewer, Job.objects.filter(began))
    if groups:
        rows = rows.filter(group__in=groups)
    keys = [{"group": "group", "person": "person"}[by]] if by in ("group", "person") else []
    found = (
        rows.values(*keys, "unit")
        .annotate(
            count=Count("pk"),
            without=Count("pk", filter=Q(cards=0)),
            seconds_sum=Sum(F("cards") * F("seconds"), default=0),
        )
        .order_by(*keys, "unit")
    )
    return [
        JobRow(
            group=row[keys[0]] if keys else "",
            jobs=row["count"],
            without_cards=row["without"],
            card_seconds=row["seconds_sum"],
            unit=row["unit"],
        )
        for row in found
    ]
