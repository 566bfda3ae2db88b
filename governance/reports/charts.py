"""The chart of each report, from the rows that its table shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from governance.reports.domain.registry import LOW
from governance.reports.domain.tables import Result
from governance.ui import charts, formats
from governance.ui.palette import Ink, ink

SOURCES = {
    "nvml_gpm": Ink("blue"),
    "dcgm_1005": Ink("green"),
    "nvml_duty": Ink("orange"),
    "nvml_duty_uncorrected": Ink("vermilion"),
    "ascend_hbm": Ink("purple"),
    "amd_umc": Ink("sky"),
}
MOST = 24
"""Bars that still can be read; a longer table has its chart of the first so many rows."""


def charts_of(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    """The charts of a report; `words` names a group in the reader's language."""
    build = BUILDERS.get(result.name)
    return build(result, words) if build and result.rows else []


def _stepped(result: Result) -> bool:
    return result.filters.get("group_by") in ("day", "week", "month")


def _name(row: Any, words: Callable[[Any], str]) -> str:
    return words(row["group"])


def _day(value: object) -> date:
    return date.fromisoformat(str(value)[:10])


def utilization(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    """Share on active time by group, a series per metric source; over time as lines."""
    sources = sorted({row["metric_source"] for row in result.rows} - {"unknown"})
    if not sources:
        return []
    names = list(dict.fromkeys(row["group"] for row in result.rows))[
        : 400 if _stepped(result) else MOST
    ]
    found = {
        (row["group"], row["metric_source"]): row["bandwidth_share_active_mean"]
        for row in result.rows
    }
    series = [
        charts.Series(
            source, [found.get((name, source)) for name in names], SOURCES.get(source, Ink("slate"))
        )
        for source in sources
    ]
    mark = charts.Mark(LOW, _("mark 30 %"))
    title, note = _("Bandwidth share on active time"), _("Per cent of theoretical bandwidth")
    write = partial(formats.percent, places=0)
    if _stepped(result):
        xs = [_day(name) for name in names]
        return [charts.lines("share", title, xs, series, write=write, note=note, mark=mark)]
    labels = [words(name) for name in names]
    return [
        charts.bars(
            "share", title, labels, series, write=write, note=note, mark=mark, stacked=False
        )
    ]


def bars_of(
    key: str,
    title: Any,
    result: Result,
    words: Callable[[Any], str],
    parts: Sequence[tuple[str, Any, Ink]],
    *,
    write: Any = formats.amount,
    note: Any = "",
    stacked: bool = False,
) -> charts.Chart:
    """Bars of some columns by group."""
    rows = result.rows if _stepped(result) else result.rows[:MOST]
    labels = [
        formats.short_day(_day(r["group"])) if _stepped(result) else _name(r, words) for r in rows
    ]
    series = [
        charts.Series(name, [row.get(column) for row in rows], hue) for column, name, hue in parts
    ]
    return charts.bars(key, title, labels, series, write=write, note=note, stacked=stacked)


def occupancy(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    return [
        bars_of(
            "occupancy",
            _("Owned and allotted"),
            result,
            words,
            [
                ("owned_gpu_hours", _("owned"), Ink("slate")),
                ("allotted_gpu_hours", _("allotted"), Ink("blue")),
            ],
            write=partial(formats.number, places=0),
            note=_("Card-hours"),
        )
    ]


def jobs(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    return [
        bars_of(
            "jobs",
            _("Card-time"),
            result,
            words,
            [("gpu_time", _("card-time"), Ink("blue"))],
            write=partial(formats.number, places=0),
        )
    ]


def cost(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    """One chart per currency: billed beside amortised, and of that what stood idle."""
    found = []
    for currency in sorted({row["currency"] for row in result.rows}):
        rows = [row for row in result.rows if row["currency"] == currency]
        part = Result(**{**_fields(result), "rows": rows})
        found.append(
            bars_of(
                f"cost-{currency.lower()}",
                _("Billed and amortised"),
                part,
                words,
                [
                    ("billed", _("billed"), Ink("slate")),
                    ("amortised", _("amortised"), Ink("blue")),
                    ("idle", _("idle"), ink("cause", "idle")),
                    ("unused", _("unused"), Ink("orange")),
                ],
                note=formats.currency_word(currency),
            )
        )
    return found


def _fields(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in Result.__slots__}


def budget(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    running = [row for row in result.rows if row["elapsed_share"] < 1] or result.rows
    rows = [{**row, "group": row["budget"]} for row in running[:MOST]]
    part = Result(**{**_fields(result), "rows": rows})
    return [
        bars_of(
            "budget",
            _("Spent, forecast and limit"),
            part,
            words,
            [
                ("spent", _("spent"), ink("state", "spent")),
                ("forecast", _("forecast"), Ink("sky")),
                ("limit", _("limit"), Ink("slate")),
            ],
        )
    ]


def vendors(result: Result, words: Callable[[Any], str]) -> list[charts.Chart]:
    rows = [
        {**row, "group": f"{row['vendor']} {row['card_model']}"}
        for row in result.rows
        if row["per_1000_gb_s_hour"] is not None
    ]
    if not rows:
        return []
    part = Result(**{**_fields(result), "rows": rows})
    return [
        bars_of(
            "vendors",
            _("Cost of used bandwidth"),
            part,
            words,
            [("per_1000_gb_s_hour", _("per 1,000 GB/s-h"), Ink("blue"))],
            note=_("Currency per 1,000 GB/s-hours really used"),
        )
    ]


BUILDERS: dict[str, Callable[[Result, Callable[[Any], str]], list[charts.Chart]]] = {
    "utilization": utilization,
    "occupancy": occupancy,
    "jobs": jobs,
    "cost": cost,
    "budget": budget,
    "vendors": vendors,
}
