"""The fleet, one card, and the log of its peaks."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from governance.kernel.periods import Period
from governance.plumbing import clock
from governance.telemetry import charts, presenting, queries
from governance.telemetry.forms import SPANS, CardFilter
from governance.telemetry.models import Card

HEAT_ROWS = 64
"""Cards drawn in the heat map; the table below has all."""

WINDOWS = {"6h": 6, "day": 24, "3d": 72, "week": 168}
FIGURES = (
    "minute",
    "bandwidth_mean",
    "bandwidth_max",
    "gpu_duty",
    "sm",
    "tensor",
    "memory_used_bytes",
    "power_w",
    "nvlink",
    "pcie",
    "net",
    "throttle",
    "reason",
    "source",
    "fidelity",
    "samples",
)


def hour_after(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


@require_GET
def cards(request: HttpRequest) -> HttpResponse:
    """The heat map and the list of cards."""
    viewer: Any = request.user
    now = clock.now()
    form = CardFilter(request.GET, viewer=viewer)
    chosen = form.cleaned_data if form.is_valid() else {}
    span = chosen.get("span") or "day"
    hours = SPANS[span]
    found = queries.cards_matching(
        viewer,
        node=chosen.get("node"),
        held={"yes": True, "no": False}.get(chosen.get("held", "")),
        now=now,
    )
    end = hour_after(now)
    zone = timezone.get_current_timezone_name()
    usage = queries.usage(
        viewer,
        period=Period(end - timedelta(hours=hours), end),
        tz=zone,
        now=now,
        group_by=("card",),
        filters={"card": [card.pk for card in found]},
    )
    by_day = hours > 48
    heat = queries.heat(found[:HEAT_ROWS], now=now, hours=hours, by_day=by_day, tz=zone)
    lines = presenting.card_lines(found, usage, queries.held_at(viewer, now))
    return render(
        request,
        "telemetry/cards.html",
        {
            "form": form,
            "table": presenting.card_table(lines, request.GET),
            "chart": charts.fleet(found[:HEAT_ROWS], heat, by_day) if found else None,
            "more": max(0, len(found) - HEAT_ROWS),
            "heat_rows": HEAT_ROWS,
            "simulated": any(card.simulated for card in found),
            "span_words": dict(form.fields["span"].choices)[span],  # type: ignore[attr-defined]
            "now": now,
        },
    )


@require_GET
def card(request: HttpRequest, card_id: int) -> HttpResponse:
    """One card: its series on a common time axis, holders, peaks."""
    viewer: Any = request.user
    now = clock.now()
    found = queries.card_for(viewer, card_id)
    window = request.GET.get("window", "day")
    hours = WINDOWS.get(window, 24)
    end = _end(found, request.GET.get("until"), now)
    period = Period(end - timedelta(hours=hours), end)
    rows = queries.minutes(viewer, found, period, FIGURES)
    outages = charts.outages_of([row["minute"] for row in rows], period)
    marks = [
        (datetime.fromtimestamp(row["minute"] * 60, end.tzinfo), row["throttle"])
        for row in rows
        if row["throttle"] and row["throttle"] != "idle"
    ]
    gaps = list(queries.gaps_of(found, period))
    peaks = queries.peaks(viewer, found)
    newest = rows[-1] if rows else None
    return render(
        request,
        "telemetry/card.html",
        {
            "card": found,
            "chart": charts.card_series(rows, period, outages, marks[:40]) if rows else None,
            "window": window if window in WINDOWS else "day",
            "windows": list(WINDOWS),
            "period": period,
            "until": request.GET.get("until", ""),
            "rows": len(rows),
            "expected": hours * 60,
            "newest": newest,
            "sources": presenting.sources_of(rows),
            "reasons": presenting.reasons_of(rows),
            "throttled": len(marks),
            "outages": outages,
            "gaps": gaps,
            "holes": len(outages) + len(gaps),
            "holdings": queries.holdings_of(viewer, found)[:20],
            "peaks": presenting.peak_table(peaks, request.GET, f"/cards/{found.pk}/peaks.csv"),
            "now": now,
        },
    )


def _end(card: Card, until: str | None, now: datetime) -> datetime:
    """The end of the window: asked for, or now, or the card's last minute where it is long ago."""
    if until:
        try:
            asked = datetime.fromisoformat(until)
        except ValueError:
            asked = now
        return asked if asked.tzinfo else asked.replace(tzinfo=now.tzinfo)
    if card.last_minute is not None:
        last = datetime.fromtimestamp(card.last_minute * 60 + 60, now.tzinfo)
        if last < now - timedelta(days=2):
            return last
    return now


@require_GET
def card_peaks(request: HttpRequest, card_id: int) -> HttpResponse:
    """The log of a card's daily bandwidth peaks as CSV."""
    viewer: Any = request.user
    found = queries.card_for(viewer, card_id)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="card-{found.pk}-peaks.csv"'
    writer = csv.writer(response)
    writer.writerow(
        [
            "vendor",
            "uuid",
            "day",
            "timezone",
            "bandwidth_share_max",
            "bandwidth_peak_at",
            "bandwidth_share_p95",
            "bandwidth_share_active_mean",
            "samples",
            "metric_source",
            "fidelity",
        ]
    )
    for peak in queries.peaks(viewer, found):
        writer.writerow(
            [
                found.vendor,
                found.uuid,
                peak.day.isoformat(),
                peak.timezone,
                peak.share,
                peak.at.isoformat(),
                "" if peak.p95 is None else round(peak.p95, 6),
                "" if peak.active_mean is None else round(peak.active_mean, 9),
                peak.samples,
                peak.source.name.lower(),
                peak.fidelity.name.lower(),
            ]
        )
    return response
