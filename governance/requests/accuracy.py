"""The accuracy page's chart and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.matching.accuracy import Claim, Run, Summary
from governance.matching.constants import Constant
from governance.ui import formats
from governance.ui.charts import Chart
from governance.ui.palette import inks
from governance.ui.tables import Column, Table

KINDS = {
    "pretrain": gettext_lazy("pre-training, plan given"),
    "pretrain_auto": gettext_lazy("pre-training, plan left to the engine"),
    "full": gettext_lazy("full fine-tuning"),
    "lora": gettext_lazy("LoRA"),
    "qlora": gettext_lazy("QLoRA"),
    "decode": gettext_lazy("decoding"),
    "memory": gettext_lazy("memory"),
}
OWNERS = {
    "physics": gettext_lazy("physics"),
    "card": gettext_lazy("card"),
    "memory": gettext_lazy("memory type"),
    "interconnect": gettext_lazy("interconnect"),
    "stack": gettext_lazy("software stack"),
    "interval": gettext_lazy("interval"),
}


def chart_of(runs: Sequence[Run]) -> Chart:
    """Predicted without the run's own source, against measured; both axes logarithmic, as shares
    of the kind's median so that all units fit one plot."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.kind].append(run)
    colours = inks("card_model", sorted(groups))
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0.001, 1000],
            "y": [0.001, 1000],
            "line": {"color": "$muted", "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for kind, rows in sorted(groups.items()):
        middle = sorted(r.measured for r in rows)[len(rows) // 2]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": str(KINDS[kind]),
                "x": [r.measured / middle for r in rows],
                "y": [r.left_out / middle for r in rows],
                "marker": {"color": colours[kind].colour, "symbol": colours[kind].symbol},
                "hoverinfo": "text",
                "hovertext": [
                    f"{r.id} {r.params_b:g}B {r.cards} × {r.card}: {formats.number(r.measured)} → "
                    f"{formats.number(r.left_out)} {r.unit}"
                    for r in rows
                ],
            }
        )
    axis = {"type": "log", "range": [-2, 2.2], "dtick": 1}
    return Chart(
        key="accuracy",
        title=_("Predicted against measured"),
        note=_("each predicted without its own source; shares of the kind's median"),
        traces=traces,
        layout={
            "height": 420,
            "xaxis": {**axis, "title": {"text": _("measured")}},
            "yaxis": {**axis, "title": {"text": _("predicted")}},
            "showlegend": True,
        },
        height=420,
        heads=[_("Run"), _("Card"), _("Measured"), _("Predicted"), _("Unit")],
        rows=[
            [
                f"{r.id} {r.source}",
                f"{r.cards} × {r.card}",
                formats.number(r.measured),
                formats.number(r.left_out),
                r.unit,
            ]
            for r in runs
        ],
    )


def summary_table(rows: Sequence[Summary], params: QueryDict) -> Table:
    """Errors by kind: with the shipped constants, and with each source left out."""
    return Table(
        columns=[
            Column("kind", _("Kind of run"), value=lambda s: KINDS[s.kind], stick=True),
            Column("runs", _("Runs"), kind="count"),
            Column("fitted_median", _("Median error"), kind="percent", note=_("fitted"), places=1),
            Column("fitted_p90", _("90th percentile"), kind="percent", note=_("fitted"), places=1),
            Column(
                "left_out_median",
                _("Median error"),
                kind="percent",
                note=_("source left out"),
                places=1,
            ),
            Column(
                "left_out_p90",
                _("90th percentile"),
                kind="percent",
                note=_("source left out"),
                places=1,
            ),
            Column("bias", _("Bias"), kind="percent", note=_("source left out"), places=1),
        ],
        rows=rows,
        params=params,
        key="errors",
        caption=_("Errors by kind of run"),
    )


def claim_table(rows: Sequence[Claim], params: QueryDict) -> Table:
    """The article's times beside ours."""
    return Table(
        columns=[
            Column("card", _("Card"), stick=True),
            Column("claimed", _("Article"), kind="number", note=_("minutes an epoch"), places=0),
            Column("predicted", _("Ours"), kind="number", note=_("minutes"), places=0),
            Column(
                "interval",
                _("Interval"),
                value=lambda c: f"{formats.number(c.low, 0)}–{formats.number(c.high, 0)}",
            ),
            Column(
                "method",
                _("Weights"),
                value=lambda c: (
                    _("4-bit: 16-bit ones do not fit") if c.method == "qlora" else _("16-bit")
                ),
            ),
        ],
        rows=rows,
        params=params,
        key="claims",
        caption=_("Times of the article beside ours"),
    )


def constant_table(rows: Sequence[Constant], params: QueryDict) -> Table:
    """Every constant of the predictor."""
    return Table(
        columns=[
            Column("name", _("Constant"), stick=True),
            Column("belongs_to", _("Belongs to"), value=lambda c: OWNERS[c.belongs_to]),
            Column("value", _("Value"), value=lambda c: f"{c.value:.4g}"),
            Column("prior", _("Before the fit"), value=lambda c: f"{c.prior:.4g}"),
            Column("unit", _("Unit")),
            Column("why", _("Why"), sortable=False),
        ],
        rows=rows,
        params=params,
        key="constants",
        caption=_("Constants of the predictor"),
        page_size=200,
    )
