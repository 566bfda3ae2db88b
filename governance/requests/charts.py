"""Cost against time of the packages of one answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from governance.matching.shapes import Package
from governance.ui import formats
from governance.ui.charts import Chart
from governance.ui.palette import inks

_MOST = 12


def cost_against_time(packages: Sequence[Package], deadline_hours: float | None) -> Chart | None:
    """One point a package with the interval of its hours; filled on the Pareto line."""
    if not packages:
        return None
    currency = packages[0].currency
    shown = [p for p in packages if p.currency == currency][:_MOST]
    colours = inks("card_model", sorted({p.card for p in shown}))
    traces: list[dict[str, Any]] = []
    line = sorted((p for p in shown if p.pareto), key=lambda p: p.hours)
    if len(line) > 1:
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [p.hours for p in line],
                "y": [p.cost for p in line],
                "line": {"color": "$accent", "width": 1.5},
                "hoverinfo": "skip",
            }
        )
    for p in shown:
        ink = colours[p.card]
        name = f"{p.count} × {p.card_name}"
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [p.hours],
                "y": [p.cost],
                "text": [name if p.pareto else ""],
                "textposition": "top right",
                "textfont": {"color": "$text", "size": 12},
                "hoverinfo": "text",
                "hovertext": [f"{name}, {p.vendor}: {formats.number(p.hours, 0)} h, {p.cost:.2f}"],
                "marker": {
                    "size": 11,
                    "color": ink.colour if p.pareto else "$raised",
                    "symbol": ink.symbol,
                    "line": {"color": ink.colour, "width": 2},
                },
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [p.hours_high - p.hours],
                    "arrayminus": [p.hours - p.hours_low],
                    "color": ink.colour,
                    "thickness": 1.5,
                    "width": 0,
                },
            }
        )
    unit = formats.currency_word(currency)
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": _("hours from start")}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": unit}},
        "margin": {"l": 64, "r": 24, "t": 16, "b": 44},
    }
    if deadline_hours:
        layout["shapes"] = [
            {
                "type": "line",
                "x0": deadline_hours,
                "x1": deadline_hours,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": "$text", "width": 1, "dash": "dash"},
            }
        ]
    return Chart(
        key="cost-time",
        title=_("Cost against time"),
        note=_("Filled: on the Pareto line. Bars: interval of the hours."),
        traces=traces,
        layout=layout,
        height=248,
        heads=[_("Package"), _("Hours"), _("Interval"), unit],
        rows=[
            [
                f"{p.count} × {p.card_name}, {p.vendor}",
                formats.number(p.hours, 0),
                f"{formats.number(p.hours_low, 0)}–{formats.number(p.hours_high, 0)}",
                formats.amount(p.cost, p.currency),
            ]
            for p in shown
        ],
    )
