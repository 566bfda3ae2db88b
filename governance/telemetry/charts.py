"""Charts of the telemetry pages: the fleet as a heat map, one card as stacked series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from governance.kernel.periods import Period
from governance.telemetry.models import Card
from governance.telemetry.queries.series import Heat
from governance.ui import charts, formats
from governance.ui.palette import Ink

MOST_POINTS = 720
ROW, AIR = 128, 26


@dataclass(frozen=True)
class Panel:
    """One figure of a card along the common time axis."""

    title: str
    series: Sequence[tuple[str, str, Ink]]
    write: Callable[[Any], str]
    top: float | None = None
    mark: float | None = None


def panels() -> list[Panel]:
    """What a card's page shows, from top to bottom."""
    return [
        Panel(
            _("Bandwidth share"),
            [
                ("bandwidth_mean", _("mean"), Ink("blue")),
                ("bandwidth_max", _("largest reading"), Ink("sky", "dot")),
            ],
            _share,
            top=1.0,
            mark=0.3,
        ),
        Panel(
            _("Activity"),
            [
                ("gpu_duty", _("GPU duty"), Ink("slate")),
                ("sm", _("SM"), Ink("green")),
                ("tensor", _("tensor cores"), Ink("purple")),
            ],
            _share,
            top=1.0,
        ),
        Panel(_("Memory used"), [("memory_used_bytes", _("largest"), Ink("orange"))], formats.size),
        Panel(_("Power, W"), [("power_w", _("mean"), Ink("vermilion"))], formats.number),
        Panel(
            _("Links, bytes/s"),
            [
                ("nvlink", "NVLink", Ink("blue")),
                ("pcie", "PCIe", Ink("green")),
                ("net", _("network of the node"), Ink("purple")),
            ],
            formats.rate,
        ),
    ]


def _share(value: Any) -> str:
    return formats.percent(value, places=0)


def _ticks(period: Period) -> dict[str, Any]:
    """Whole local hours (days in a longer window), at most eight, in the reader's language."""
    hours = max(1, round(period.elapsed.total_seconds() / 3600))
    step = next(n for n in (1, 3, 6, 12, 24, 48) if hours / n <= 8 or n == 48)
    at = timezone.localtime(period.start).replace(minute=0, second=0, microsecond=0)
    at += timedelta(hours=1)
    marks = [at + timedelta(hours=n) for n in range(hours) if (at.hour + n) % min(step, 24) == 0]
    return {
        "tickvals": marks,
        "ticktext": [
            formats.short_day(mark.date()) if mark.hour == 0 else formats.clock_time(mark)
            for mark in marks
        ],
    }


def fleet(cards: Sequence[Card], found: Heat, by_day: bool) -> charts.Chart:
    """Cards down, hours or days across; unknown is hatched."""
    steps = [timezone.localtime(step).date() if by_day else _clock(step) for step in found.steps]
    return charts.heat(
        "fleet",
        _("Bandwidth share by card"),
        steps,
        [_row_name(card) for card in cards],
        [found.values[card.pk] for card in cards],
        head=_("Card"),
        note=_("mean over all samples; hatched: not known, which is neither zero nor idle"),
    )


def _row_name(card: Card) -> str:
    return f"{card} · {card.uuid[-6:]}" if card.index is None else str(card)


def _clock(step: datetime) -> str:
    local = timezone.localtime(step)
    return f"{local:%d} {local:%H:%M}"


def card_series(
    rows: Iterable[Mapping[str, Any]],
    period: Period,
    outages: Sequence[charts.Unknown],
    marks: Sequence[tuple[datetime, str]],
) -> charts.Chart:
    """The panels with a common time axis. A minute without a row is a hole in the line."""
    xs, columns = thinned(rows, period)
    shown = [
        panel
        for panel in panels()
        if any(value is not None for key, _n, _i in panel.series for value in columns[key])
    ]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "margin": {"l": 64, "r": 16, "t": 24, "b": 34},
        "showlegend": False,
        "xaxis": {
            "type": "date",
            **_ticks(period),
            "range": [period.start, period.end],
            "anchor": f"y{len(shown)}" if len(shown) > 1 else "y",
        },
        "annotations": [],
        "shapes": [
            {
                "type": "line",
                "yref": "paper",
                "x0": at,
                "x1": at,
                "y0": 0,
                "y1": 1,
                "line": {"color": "$act", "width": 1, "dash": "dot"},
            }
            for at, _word in marks
        ],
    }
    height = AIR + max(1, len(shown)) * ROW
    for place, panel in enumerate(shown):
        _draw(panel, place, len(shown), xs, columns, outages, traces, layout)
    heads = [_("Time"), *[name for panel in shown for _k, name, _i in panel.series]]
    return charts.Chart(
        key="card",
        title=_("The card over time"),
        note=_("hatched: no data"),
        traces=traces,
        layout=layout,
        narrow={"margin": {"l": 52, "r": 4}},
        height=height + 40,
        heads=heads,
        rows=[
            [
                formats.moment(x),
                *[
                    charts.written(columns[key][n], panel.write)
                    for panel in shown
                    for key, _name, _ink in panel.series
                ],
            ]
            for n, x in enumerate(xs)
            if any(columns[key][n] is not None for p in shown for key, _nm, _i in p.series)
        ],
    )


def _draw(
    panel: Panel,
    place: int,
    count: int,
    xs: Sequence[datetime],
    columns: Mapping[str, Sequence[Any]],
    outages: Sequence[charts.Unknown],
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
) -> None:
    axis = "y" if place == 0 else f"y{place + 1}"
    values = [v for key, _n, _i in panel.series for v in columns[key] if v is not None]
    top = panel.top or (max(map(float, values), default=1.0) or 1.0) * 1.1
    share = 1 / count
    low, high = 1 - (place + 1) * share, 1 - place * share - 0.22 * share
    traces += [{**charts.hatch(gap, 0, top), "yaxis": axis} for gap in outages]
    for key, name, ink in panel.series:
        if all(value is None for value in columns[key]):
            continue
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": list(xs),
                "y": list(columns[key]),
                "yaxis": axis,
                "connectgaps": False,
                "line": {"color": ink.colour, "width": 1.5, "dash": ink.dash},
                "hoverinfo": "text",
                "hovertext": [
                    f"{name} {panel.write(v)}, {formats.moment(x)}" if v is not None else ""
                    for x, v in zip(xs, columns[key], strict=True)
                ],
            }
        )
    layout["yaxis" if place == 0 else f"yaxis{place + 1}"] = {
        "domain": [max(low, 0), high],
        "range": [0, top],
        "anchor": "x",
        **charts.value_ticks(0, top, panel.write),
    }
    shift = 0
    for text, colour in [
        (f"<b>{panel.title}</b>", "$text"),
        *(
            (name, f"{ink.colour}+ink")
            for key, name, ink in panel.series
            if any(value is not None for value in columns[key])
        ),
    ]:
        layout["annotations"].append(
            charts.words(
                0,
                high,
                text,
                color=colour,
                xref="paper",
                yref="paper",
                xanchor="left",
                yanchor="bottom",
                xshift=shift,
            )
        )
        shift += charts.text_width(text.removeprefix("<b>").removesuffix("</b>")) + 12
    if panel.mark is not None:
        layout["shapes"].append({**charts.level(panel.mark), "yref": axis})


def thinned(
    rows: Iterable[Mapping[str, Any]], period: Period
) -> tuple[list[datetime], dict[str, list[Any]]]:
    """Time steps and columns of at most MOST_POINTS points: of the rows in a step the largest
    value stands, so that no peak is lost; a step without rows is None."""
    keys = [key for panel in panels() for key, _n, _i in panel.series]
    length = int(period.elapsed.total_seconds()) // 60
    stride = max(1, -(-length // MOST_POINTS))
    first = int(period.start.timestamp()) // 60
    steps = -(-length // stride)
    columns: dict[str, list[Any]] = {key: [None] * steps for key in keys}
    for row in rows:
        step = (row["minute"] - first) // stride
        if 0 <= step < steps:
            for key in keys:
                value = row[key]
                if value is not None:
                    before = columns[key][step]
                    columns[key][step] = value if before is None else max(before, value)
    start = datetime.fromtimestamp(first * 60, UTC)
    return [start + timedelta(minutes=n * stride) for n in range(steps)], columns


def outages_of(minutes: Sequence[int], period: Period) -> list[charts.Unknown]:
    """The stretches of the period, of two minutes and more, for which there is no row."""
    first = -(-int(period.start.timestamp()) // 60)
    last = int(period.end.timestamp()) // 60
    found = []
    edge = first
    for minute in (*minutes, last):
        if minute - edge >= 2:
            found.append(
                charts.Unknown(
                    datetime.fromtimestamp(edge * 60, UTC), datetime.fromtimestamp(minute * 60, UTC)
                )
            )
        edge = max(edge, minute + 1)
    return found
