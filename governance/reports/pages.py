"""From a report's answer to what a page draws; the exports take the same rows in the same order."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from governance.kernel.reasons import N_, Reason
from governance.reports.domain.judgement import CONFIDENCES
from governance.reports.domain.kpis import KPIS
from governance.reports.domain.tables import Column, Result
from governance.ui import formats, tables

WORDS = {
    "all": N_("all"),
    "not attributed": N_("not attributed"),
    "hourly": N_("hourly"),
    "daily": N_("daily"),
    "monthly": N_("monthly"),
    "quarterly": N_("quarterly"),
    "annual": N_("annual"),
    "spot": N_("spot"),
    "card without rental": N_("card without rental"),
    "rental without request": N_("rental without request"),
    "rental past its end": N_("rental past its end"),
    "undetermined": N_("no verdict"),
    "unknown": N_("not known"),
    "second": N_("card-seconds"),
    "minute": N_("card-minutes"),
    "hour": N_("card-hours"),
    "True": N_("yes"),
    "False": N_("no"),
    **CONFIDENCES,
}
KINDS = {
    "money": ("amount", None),
    "number": ("number", None),
    "share": ("percent", 1),
    "hours": ("number", 1),
    "bytes": ("size", None),
    "count": ("number", 0),
    "day": ("day", None),
    "moment": ("moment", None),
    "text": ("text", None),
}


def word(value: Any) -> str:
    """A value that is a word of ours, in the reader's language; other text as it is."""
    text = str(value)
    return " · ".join(_(WORDS[part]) if part in WORDS else part for part in text.split(" · "))


def link(route: str, *arguments: Any) -> str:
    """An address, or nothing while its room has no such page."""
    try:
        return reverse(route, args=arguments)
    except NoReverseMatch:
        return ""


def head(column: Column) -> Any:
    """The column's name; where the registry explains it, with its formula."""
    name = _(column.name)
    entry = KPIS.get(column.formula)
    if entry is None:
        return name
    return format_html('<abbr title="{}">{}</abbr>', _(entry.formula), name)


def _column(column: Column, result: Result) -> tables.Column:
    kind, places = KINDS[column.kind]
    places = places if column.places is None else column.places
    options: dict[str, Any] = {}
    if column.kind == "text":
        options["value"] = lambda row: _text(row.get(column.key))
    else:
        options["value"] = lambda row: row.get(column.key)
    if column.key in ("group", "rental", "budget", "request"):
        options["stick"] = True
        options["href"] = lambda row: _href(result, column.key, row)
    if column.sub:
        options["sub"] = lambda row: _sub(row.get(column.sub))
    if column.measured:
        options["measured"] = True
        options["incomplete"] = lambda row: bool(row.get("incomplete"))
    return tables.Column(
        column.key,
        head(column),
        kind=kind,
        places=places,
        note=_(column.unit) if column.unit else "",
        **options,
    )


def _sub(value: Any) -> str:
    if isinstance(value, datetime):
        return formats.moment(value)
    return "" if value is None else word(value)


def _text(value: Any) -> Any:
    if isinstance(value, Reason):
        return value.render(_)
    return None if value is None else word(value)


def _href(result: Result, key: str, row: Any) -> str:
    if "id" not in row:
        return ""
    if result.name == "price-comparison" and key == "rental":
        return f"{reverse('reports:prices')}?rental={row['id']}"
    if result.name == "accuracy" and key == "request":
        return link("requests:detail", row["id"])
    if result.name == "budget" and key == "budget":
        return link("budgets:detail", row["id"])
    return link("rentals:detail", row["id"]) if key == "rental" else ""


def table_of(result: Result, params: QueryDict) -> tables.Table:
    """The table of a report: its named columns, sorted as the address says."""
    address = reverse("reports:report", args=[result.name])
    query = params.copy()
    exports = [
        (name, f"{address.rstrip('/')}.{suffix}?{query.urlencode()}")
        for name, suffix in (("CSV", "csv"), ("XLSX", "xlsx"))
    ]
    shown = [_column(column, result) for column in result.columns if column.name]
    totals = {k: v for k, v in result.total.items() if v is not None}
    return tables.Table(
        columns=shown,
        rows=list(result.rows),
        params=params,
        caption=_(result.title),
        page_size=100,
        exports=exports,
        totals=totals if result.rows and totals else None,
        empty=_("Nothing in these days."),
        empty_hint=_("Choose other days or fewer filters."),
    )


def as_shown(result: Result, params: QueryDict) -> Result:
    """The result with its rows in the order of the screen: what the exports write."""
    return replace(result, rows=list(table_of(result, params).ordered))
