"""What one card measured, minute by minute, and fleets of cards hour by hour or day by day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import polars.selectors as cs
from django.db import connection
from django.db.models import QuerySet

from governance.kernel.periods import Period
from governance.kernel.policy import Actor
from governance.telemetry.domain.columns import SHARE
from governance.telemetry.domain.packing import unpack
from governance.telemetry.domain.rollup import percentile
from governance.telemetry.domain.sources import FIDELITY_OF, Fidelity, Source
from governance.telemetry.models import Card, CardHolding, Gap, MinuteSample, PackedDay


@dataclass(frozen=True)
class Peak:
    """The largest bandwidth reading of a card on a local day, and how it was read."""

    day: date
    source: Source
    fidelity: Fidelity
    share: float
    at: datetime
    samples: int
    active_mean: float | None
    p95: float | None
    timezone: str


@dataclass(frozen=True)
class Heat:
    """Bandwidth share (mean over all samples) by card and step; None where nothing is known."""

    steps: list[datetime]
    values: dict[int, list[float | None]]


def spans_visible(viewer: Actor, card: Card, period: Period) -> list[Period]:
    """The parts of the period for which the viewer may see the card: all for those who see all,
    else while one of the viewer's teams held it."""
    if "see.all" in viewer.abilities():
        return [period]
    spans = []
    for holding in CardHolding.objects.visible_to(viewer).filter(card=card).order_by("span"):
        if not holding.span.isempty:
            end = holding.span.upper or period.end
            if end > holding.span.lower and (
                part := Period(holding.span.lower, end).overlap(period)
            ):
                spans.append(part)
    return spans


def minutes(
    viewer: Actor, card: Card, period: Period, columns: Sequence[str]
) -> list[dict[str, Any]]:
    """The columns of a card's stored minutes in the period that the viewer may see, oldest
    first, packed days included."""
    names = ("minute", *(name for name in columns if name != "minute"))
    found: list[dict[str, Any]] = []
    for span in spans_visible(viewer, card, period):
        first, last = (-(-int(moment.timestamp()) // 60) for moment in (span.start, span.end))
        found += MinuteSample.objects.filter(
            card_id=card.pk, minute__gte=first, minute__lt=last
        ).values(*names)
        packed = PackedDay.objects.filter(
            card_id=card.pk, day__gte=first // 1440, day__lte=(last - 1) // 1440
        )
        for body in packed.values_list("body", flat=True):
            rows = unpack(bytes(body)).select(names)
            # as the database writes four-byte figures: 0.2, not 0.20000000298
            rows = rows.with_columns(cs.float().cast(pl.String).cast(pl.Float64))
            found += rows.filter(pl.col("minute").is_between(first, last - 1)).to_dicts()
    return sorted(found, key=lambda row: row["minute"])


def gaps_of(card: Card, period: Period) -> QuerySet[Gap]:
    """What the card's agent says is missing within the period."""
    return Gap.objects.filter(
        node_id=card.node_id, starts_at__lt=period.end, ends_at__gt=period.start
    ).order_by("starts_at")


def heat(cards: Sequence[Card], *, now: datetime, hours: int, by_day: bool, tz: str) -> Heat:
    """The last `hours` of the cards in steps of an hour, or of a local day.

    A step in which a card had several sources shows the one that covers most of it.
    """
    zone = ZoneInfo(tz)
    last = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    first = last - timedelta(hours=hours)
    bucket = (
        "date_trunc('day', to_timestamp(hour * 3600.0), %(tz)s)"
        if by_day
        else "to_timestamp(hour * 3600.0)"
    )
    if by_day:
        first = datetime.combine(first.astimezone(zone).date(), datetime.min.time(), zone)
    sql = f"""
    SELECT DISTINCT ON (card_id, at) card_id, at, share FROM (
        SELECT card_id, {bucket} AS at, source, sum(bandwidth_minutes) AS known,
            sum(bandwidth_total)::float8 / nullif(sum(bandwidth_samples), 0) / {SHARE} AS share
        FROM telemetry_usagehour
        WHERE card_id = ANY(%(cards)s) AND hour >= %(first)s AND hour < %(last)s
        GROUP BY 1, 2, 3) AS steps
    WHERE share IS NOT NULL ORDER BY card_id, at, known DESC, source DESC
    """
    steps = _steps(first, last, by_day, zone)
    place = {step: n for n, step in enumerate(steps)}
    values: dict[int, list[float | None]] = {card.pk: [None] * len(steps) for card in cards}
    with connection.cursor() as cursor:
        cursor.execute(
            sql,
            {
                "tz": tz,
                "cards": [card.pk for card in cards],
                "first": int(first.timestamp()) // 3600,
                "last": int(last.timestamp()) // 3600,
            },
        )
        for card_id, at, share in cursor.fetchall():
            if at in place:
                values[card_id][place[at]] = share
    return Heat(steps, values)


def _steps(first: datetime, last: datetime, by_day: bool, zone: ZoneInfo) -> list[datetime]:
    steps = []
    step = first
    while step < last:
        steps.append(step.astimezone(UTC))
        if by_day:
            day = step.astimezone(zone).date() + timedelta(days=1)
            step = datetime.combine(day, datetime.min.time(), zone)
        else:
            step += timedelta(hours=1)
    return steps


def peaks(viewer: Actor, card: Card) -> list[Peak]:
    """The day's bandwidth peaks of a card, newest first; kept for ever."""
    scope = "TRUE"
    values: dict[str, object] = {"card": card.pk}
    if "see.all" not in viewer.abilities():
        scope = "p.team_id = ANY(%(teams)s)"
        values["teams"] = [team for team in getattr(viewer, "team_abilities", {}) if team]
    sql = f"""
    SELECT d.*, p.team_id FROM telemetry_usageday d
    LEFT JOIN telemetry_cardholding h ON h.id = d.holding_id
    LEFT JOIN accounts_project p ON p.id = h.project_id
    WHERE d.card_id = %(card)s AND d.bandwidth_max IS NOT NULL AND {scope}
    ORDER BY d.day DESC, d.source DESC, d.holding_id
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, values)  # type: ignore[arg-type]
        names = [column[0] for column in cursor.description]
        return [_peak(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


def _peak(row: dict[str, Any]) -> Peak:

    source = Source(row["source"])
    active = row["bandwidth_active_samples"]
    return Peak(
        day=row["day"],
        source=source,
        fidelity=FIDELITY_OF[source],
        share=row["bandwidth_max"],
        at=datetime.fromtimestamp(row["bandwidth_peak_at"], UTC),
        samples=row["bandwidth_samples"],
        active_mean=row["bandwidth_active_total"] / SHARE / active if active else None,
        p95=percentile(row["histogram"], 0.95),
        timezone=row["timezone"],
    )
