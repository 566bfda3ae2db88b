"""Figures for charts.js: plotly traces whose colours are names of tokens, and their data table.

A colour "$name" is a token of the theme shown; "$name+ink" the same mixed towards the text, for
words. Nothing here knows of light or dark.
"""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _

from governance.ui import formats
from governance.ui.palette import Ink

Writer = Callable[[Any], str]
LABEL_HEIGHT = 15


@dataclass(frozen=True)
class Series:
    """Values of one thing along x; None is a hole and stays one."""

    name: str
    values: Sequence[Any]
    ink: Ink
    short: str = ""


@dataclass(frozen=True)
class Unknown:
    """A stretch of x without data, hatched and named."""

    start: Any
    end: Any
    label: str = ""


@dataclass(frozen=True)
class Mark:
    """A level that matters, dashed and named."""

    value: Any
    label: str


@dataclass(frozen=True)
class Chart:
    """What `{% chart chart %}` draws: traces and layout for plotly, and the same as a table."""

    key: str
    title: Any
    traces: list[dict[str, Any]]
    layout: dict[str, Any] = field(default_factory=dict)
    note: Any = ""
    summary: str = ""
    height: int = 250
    heads: Sequence[Any] = ()
    rows: Sequence[Sequence[Any]] = ()
    hatched: bool = False
    narrow: dict[str, Any] = field(default_factory=dict)

    @property
    def figure(self) -> dict[str, Any]:
        return {
            "traces": plain(self.traces),
            "layout": plain({"height": self.height, **self.layout}),
            "narrow": plain(self.narrow),
        }

    @property
    def label(self) -> str:
        return self.summary or f"{self.title}. {self.note}".rstrip(". ")

    @property
    def id(self) -> str:
        return f"chart-{self.key}"


def plain(value: Any) -> Any:
    """JSON without NaN: decimals as floats, dates in ISO, unknown as null."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dt.datetime):
        return formats.local(value).replace(tzinfo=None).isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return str(value)


def written(value: Any, write: Writer) -> str:
    return formats.UNKNOWN if value is None else write(value)


def x_words(x: Any) -> str:
    if isinstance(x, dt.datetime):
        return formats.moment(x)
    if isinstance(x, dt.date):
        return formats.short_day(x)
    return str(x)


def axis_ticks(xs: Sequence[Any], most: int = 6) -> dict[str, Any]:
    """A few labels in the reader's language, first and last among them."""
    if not xs or not isinstance(xs[0], dt.date):
        return {}
    gaps = max(1, min(most, len(xs)) - 1)
    places = sorted({round(i * (len(xs) - 1) / gaps) for i in range(gaps + 1)})
    shown = [xs[i] for i in places]
    return {"tickvals": shown, "ticktext": [formats.short_day(x) for x in shown]}


def y_range(values: Sequence[Any], mark: Mark | None) -> tuple[float, float]:
    known = [float(v) for v in values if v is not None]
    if mark is not None:
        known.append(float(mark.value))
    top = max(known, default=1.0) or 1.0
    return min(0.0, min(known, default=0.0)), top * 1.08


def spread(heights: dict[int, float], pixels: float, low: float, high: float) -> dict[int, float]:
    """How far, in pixels, each label at the line's end moves so that none covers another."""
    shifts: dict[int, float] = {}
    floor = -math.inf
    for n, value in sorted(heights.items(), key=lambda pair: pair[1]):
        at = (value - low) / (high - low) * pixels
        placed = max(at, floor + LABEL_HEIGHT)
        shifts[n] = placed - at
        floor = placed
    return shifts


def text_width(text: str) -> int:
    """About how many pixels bold 12 px words take; Chinese characters are square."""
    return sum(13 if ord(character) > 0x2E80 else 8 for character in text)


def last_known(values: Sequence[Any]) -> int | None:
    return next((i for i in range(len(values) - 1, -1, -1) if values[i] is not None), None)


def lines(
    key: str,
    title: Any,
    xs: Sequence[Any],
    series: Sequence[Series],
    *,
    write: Writer = formats.number,
    note: Any = "",
    head: Any = "",
    mark: Mark | None = None,
    unknown: Sequence[Unknown] = (),
    height: int = 250,
) -> Chart:
    """Lines with their names at the end; a hole breaks the line, a known outage is hatched."""
    low, high = y_range([v for s in series for v in s.values], mark)
    traces: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for gap in unknown:
        traces.append(hatch(gap, low, high))
        if gap.label:
            notes.append(
                words(gap.start, 1, gap.label, yref="paper", xanchor="left", yanchor="top")
            )
    ends: dict[int, float] = {}
    for n, s in enumerate(series):
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": s.name,
                "x": list(xs),
                "y": list(s.values),
                "connectgaps": False,
                "line": {"color": s.ink.colour, "width": 2, "dash": s.ink.dash},
                "hoverinfo": "text",
                "hovertext": [
                    f"{escape(s.name)} {write(v)}, {x_words(x)}" if v is not None else ""
                    for x, v in zip(xs, s.values, strict=True)
                ],
            }
        )
        at = last_known(s.values)
        if at is not None:
            ends[n] = float(s.values[at])
    labelled = dict(ends)
    if mark is not None:
        labelled[-1] = float(mark.value)
    shifts = spread(labelled, height - 52, low, high)
    for n, value in ends.items():
        s = series[n]
        text = f"<b>{escape(s.short or s.name)} {write(value)}</b>"
        notes.append(
            words(
                1,
                value,
                text,
                xref="paper",
                xanchor="left",
                xshift=6,
                yshift=shifts[n],
                color=f"{s.ink.colour}+ink",
            )
        )
    shapes = []
    if mark is not None:
        shapes.append(level(mark.value))
        notes.append(
            words(
                1,
                float(mark.value),
                f"<b>{escape(mark.label)}</b>",
                xref="paper",
                xanchor="left",
                xshift=6,
                yshift=shifts[-1],
                color="$watch",
            )
        )
    texts = [f"{series[n].short or series[n].name} {write(v)}" for n, v in ends.items()]
    widest = max(map(text_width, [*texts, mark.label if mark else ""]), default=0)
    right = min(220, 20 + widest)
    layout = {
        "margin": {"l": 52, "r": right, "t": 18, "b": 34},
        "xaxis": axis_ticks(xs),
        "yaxis": {"range": [low, high], **value_ticks(low, high, write)},
        "annotations": notes,
        "shapes": shapes,
    }
    return Chart(
        key=key,
        title=title,
        note=note,
        traces=traces,
        layout=layout,
        narrow={"xaxis": axis_ticks(xs, 3), "margin": {"l": 44, "r": min(132, right)}},
        height=height,
        heads=[head or _("Day"), *[s.name for s in series]],
        rows=[
            [x_words(x), *[written(s.values[i], write) for s in series]] for i, x in enumerate(xs)
        ],
    )


def hatch(gap: Unknown, low: float, high: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [gap.start, gap.end, gap.end, gap.start, gap.start],
        "y": [low, low, high, high, low],
        "fill": "toself",
        "fillcolor": "$clear",
        "fillpattern": {"shape": "/", "size": 5, "solidity": 0.18, "fgcolor": "$line-strong"},
        "line": {"color": "$line-strong", "width": 1},
        "hoverinfo": "skip",
        "name": gap.label,
    }


def words(x: Any, y: Any, text: str, *, color: str = "$text", **place: Any) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": text,
        "showarrow": False,
        "font": {"color": color, "size": 12},
        "yanchor": "middle",
        **place,
    }


def level(value: Any, color: str = "$watch") -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": value,
        "y1": value,
        "line": {"color": color, "width": 1.5, "dash": "dash"},
    }


def value_ticks(low: float, high: float, write: Writer) -> dict[str, Any]:
    """Four or five round steps; amounts of money without their cents, since steps are round."""
    if write in (formats.amount, formats.money):
        write = formats.number
    span = high - low
    rough = span / 4
    power = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough)
    first = math.ceil(low / step) * step
    ticks = [round(first + i * step, 10) for i in range(int((high - first) / step) + 1)]
    return {"tickvals": ticks, "ticktext": [write(t) for t in ticks]}


def bars(
    key: str,
    title: Any,
    xs: Sequence[Any],
    series: Sequence[Series],
    *,
    write: Writer = formats.amount,
    note: Any = "",
    head: Any = "",
    mark: Mark | None = None,
    stacked: bool = True,
    height: int = 250,
) -> Chart:
    """Bars per step of x, stacked so that the whole can be read as well."""
    if stacked:
        tops = [
            sum((float(s.values[i]) for s in series if s.values[i] is not None), 0.0)
            for i in range(len(xs))
        ]
    else:
        tops = [v for s in series for v in s.values]
    low, high = y_range(tops, mark)
    labels = [x_words(x) for x in xs]
    traces = []
    for s in series:
        marker: dict[str, Any] = {"color": s.ink.colour}
        if s.ink.hatched:
            marker = {
                "color": "$clear",
                "line": {"color": "$line-strong", "width": 1},
                "pattern": {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": "$line-strong"},
            }
        traces.append(
            {
                "type": "bar",
                "name": s.name,
                "x": labels,
                "y": list(s.values),
                "marker": marker,
                "hoverinfo": "text",
                "textposition": "none",
                "hovertext": [
                    f"{escape(s.name)} {written(v, write)}, {escape(x)}"
                    for x, v in zip(labels, s.values, strict=True)
                ],
            }
        )
    layout: dict[str, Any] = {
        "barmode": "stack" if stacked else "group",
        "showlegend": len(series) > 1,
        "xaxis": {"type": "category"},
        "yaxis": {"range": [low, high], **value_ticks(low, high, write)},
        "margin": {"l": 76, "r": 24, "t": 30 if len(series) > 1 else 14, "b": 34},
    }
    if mark is not None:
        layout["shapes"] = [level(mark.value)]
        layout["annotations"] = [
            words(
                1,
                float(mark.value),
                f"<b>{escape(mark.label)}</b>",
                xref="paper",
                xanchor="right",
                yshift=9,
                color="$watch",
            )
        ]
    return Chart(
        key=key,
        title=title,
        note=note,
        traces=traces,
        layout=layout,
        narrow={"margin": {"l": 60, "r": 8}},
        height=height,
        heads=[head or "", *[s.name for s in series]],
        rows=[
            [label, *[written(s.values[i], write) for s in series]]
            for i, label in enumerate(labels)
        ],
    )


def heat(
    key: str,
    title: Any,
    xs: Sequence[Any],
    ys: Sequence[str],
    values: Sequence[Sequence[Any]],
    *,
    write: Writer = formats.percent,
    note: Any = "",
    head: Any = "",
    top: float = 1.0,
) -> Chart:
    """Rows of ys over steps of x; a cell without data shows the hatching beneath."""
    labels = [x_words(x) for x in xs]
    trace = {
        "type": "heatmap",
        "x": labels,
        "y": list(ys),
        "z": [list(row) for row in values],
        "zmin": 0,
        "zmax": top,
        "xgap": 1,
        "ygap": 1,
        "colorscale": [[0, "$sunken"], [0.3, "$series-sky"], [1, "$series-blue"]],
        "showscale": False,
        "hoverongaps": False,
        "hoverinfo": "text",
        "hovertext": [
            [
                f"{escape(y)}, {escape(x)}: {written(v, write)}"
                for x, v in zip(labels, row, strict=True)
            ]
            for y, row in zip(ys, values, strict=True)
        ],
    }
    return Chart(
        key=key,
        title=title,
        note=note,
        traces=[trace],
        layout={
            "margin": {"l": 150, "r": 16, "t": 12, "b": 34},
            "xaxis": {"type": "category", "nticks": 8, "showgrid": False},
            "yaxis": {"autorange": "reversed", "showgrid": False, "type": "category"},
        },
        narrow={"margin": {"l": 96, "r": 4}, "xaxis": {"nticks": 4}},
        height=max(120, 56 + 20 * len(ys)),
        hatched=True,
        heads=[head or "", *labels],
        rows=[[y, *[written(v, write) for v in row]] for y, row in zip(ys, values, strict=True)],
    )
