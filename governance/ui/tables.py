"""Tables sorted, filtered and paged on the server; the page and its export read the same rows."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.functional import cached_property
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from governance.ui import formats
from governance.ui.icons import PATHS, TONE_ICONS

Value = Callable[[Any], Any]

WRITERS: dict[str, Callable[[Any], str]] = {
    "number": formats.number,
    "amount": formats.amount,
    "money": formats.money,
    "percent": formats.percent,
    "points": formats.points,
    "signed": formats.signed,
    "hours": formats.hours,
    "size": formats.size,
    "rate": formats.rate,
    "count": formats.count,
    "duration": formats.duration,
}
DATES: dict[str, Callable[[Any], str]] = {
    "day": formats.day,
    "moment": formats.moment,
    "ago": formats.ago,
    "month": formats.month,
}


@dataclass(frozen=True)
class Column:
    """One column. `value` is an attribute path or a function of the row (default: `key`);
    `order` the database field it sorts by where rows are a queryset; `measured` writes a missing
    value as "not measured", hatched, instead of a dash; `cell` is a template that gets `row`."""

    key: str
    label: Any
    kind: str = "text"
    note: Any = ""
    value: str | Value | None = None
    sub: str | Value | None = None
    href: Value | None = None
    order: str | None = None
    sortable: bool = True
    measured: bool = False
    incomplete: Value | None = None
    stick: bool = False
    places: int | None = None
    cell: str = ""

    @property
    def is_figure(self) -> bool:
        return self.kind in WRITERS or self.kind == "figure"

    @property
    def is_date(self) -> bool:
        return self.kind in DATES

    def of(self, row: Any) -> Any:
        return reach(row, self.value if self.value is not None else self.key)

    def write(self, value: Any) -> Any:
        if value is None or value == "":
            if self.measured:
                return format_html('<span class="unmeasured">{}</span>', _("not measured"))
            return formats.UNKNOWN
        if self.kind in WRITERS:
            writer: Callable[..., str] = WRITERS[self.kind]
            return writer(value) if self.places is None else writer(value, places=self.places)
        if self.kind in DATES:
            return DATES[self.kind](value)
        if self.kind == "badge":
            return badge(*value)
        return value


def reach(row: Any, path: str | Value) -> Any:
    """A value of a row: a function's answer, a mapping's entry or a dotted attribute path."""
    if callable(path):
        return path(row)
    for name in path.split("."):
        if row is None:
            return None
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name)
        if callable(row) and not isinstance(row, type):
            row = row()
    return row


def icon(name: str, label: str = "") -> SafeString:
    paths = SafeString(PATHS[name])
    if label:
        return format_html(
            '<svg class="icon" viewBox="0 0 16 16" role="img" aria-label="{}">{}</svg>',
            label,
            paths,
        )
    return format_html('<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">{}</svg>', paths)


def badge(tone: str, word: Any) -> SafeString:
    """A state: colour, icon and word together."""
    sign = icon(TONE_ICONS[tone]) if tone in TONE_ICONS else ""
    return format_html('<span class="badge {}">{}{}</span>', tone, sign, word)


@dataclass(frozen=True)
class Head:
    column: Column
    query: str
    direction: str

    @property
    def aria_sort(self) -> str:
        return {"up": "ascending", "down": "descending"}.get(self.direction, "")


@dataclass(frozen=True)
class Cell:
    column: Column
    content: Any
    href: str = ""
    sub: Any = ""
    incomplete: bool = False


@dataclass(frozen=True)
class Row:
    cells: list[Cell]
    source: Any
    attrs: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Table:
    """What `{% data_table table %}` draws.

    `rows` is a sequence or a queryset; `params` the request's GET; `key` keeps two tables of one
    page apart in the address (`key.sort`, `key.page`) and is the id swapped by htmx. `sort` is
    the first order, `-name` for descending. `totals` maps column keys to values of the foot.
    """

    columns: Sequence[Column]
    rows: Sequence[Any] | QuerySet[Any]
    params: QueryDict
    caption: Any = ""
    key: str = "table"
    sort: str = ""
    page_size: int = 50
    empty: Any = ""
    empty_hint: Any = ""
    totals: Mapping[str, Any] | None = None
    total_label: Any = ""
    exports: Sequence[tuple[Any, str]] = ()
    css: str = ""
    row_attrs: Callable[[Any], Mapping[str, str]] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)

    def name(self, what: str) -> str:
        return what if self.key == "table" else f"{self.key}.{what}"

    @cached_property
    def order(self) -> str:
        asked = self.params.get(self.name("sort"), "")
        known = {c.key for c in self.columns if self.sorts(c)}
        return asked if asked.removeprefix("-") in known else self.sort

    def sorts(self, column: Column) -> bool:
        if not column.sortable or not column.label:
            return False
        return not isinstance(self.rows, QuerySet) or column.order is not None

    @cached_property
    def ordered(self) -> Sequence[Any] | QuerySet[Any]:
        """All rows in the order asked for; a missing value comes last either way."""
        wanted = self.order.removeprefix("-")
        column = next((c for c in self.columns if c.key == wanted), None)
        if column is None:
            return self.rows
        down = self.order.startswith("-")
        if isinstance(self.rows, QuerySet):
            by = F(column.order or column.key)
            ordering = by.desc(nulls_last=True) if down else by.asc(nulls_last=True)
            return self.rows.order_by(ordering, "pk")
        known = [r for r in self.rows if column.of(r) is not None]
        known.sort(key=lambda r: sort_key(column.of(r)), reverse=down)
        return known + [r for r in self.rows if column.of(r) is None]

    @cached_property
    def page(self) -> Page[Any]:
        return Paginator(self.ordered, self.page_size).get_page(self.params.get(self.name("page")))

    @cached_property
    def heads(self) -> list[Head]:
        heads = []
        for column in self.columns:
            if not self.sorts(column):
                heads.append(Head(column, "", ""))
                continue
            up, down = self.order == column.key, self.order == "-" + column.key
            first = "-" + column.key if column.is_figure else column.key
            turned = "-" + column.key if up else column.key
            query = self.query(sort=turned if up or down else first)
            heads.append(Head(column, query, "up" if up else "down" if down else ""))
        return heads

    @cached_property
    def body(self) -> list[Row]:
        return [self.row(r) for r in self.page.object_list]

    def row(self, source: Any) -> Row:
        cells = []
        for column in self.columns:
            if column.cell:
                content: Any = render_to_string(column.cell, {**self.context, "row": source})
            else:
                content = column.write(column.of(source))
            cells.append(
                Cell(
                    column,
                    content,
                    href=(column.href(source) or "") if column.href else "",
                    sub=reach(source, column.sub) if column.sub else "",
                    incomplete=bool(column.incomplete and column.incomplete(source)),
                )
            )
        return Row(cells, source, self.row_attrs(source) if self.row_attrs else {})

    @cached_property
    def foot(self) -> list[Cell]:
        if self.totals is None:
            return []
        cells = []
        for n, column in enumerate(self.columns):
            if column.key in self.totals:
                cells.append(Cell(column, column.write(self.totals[column.key])))
            else:
                cells.append(Cell(column, (self.total_label or _("All")) if n == 0 else ""))
        return cells

    def query(self, **changes: Any) -> str:
        """The address's query with changes; another order starts again at the first page."""
        params = self.params.copy()
        for what in ("page", *changes):
            params.pop(self.name(what), None)
        for what, value in changes.items():
            if value:
                params[self.name(what)] = str(value)
        return "?" + params.urlencode()

    @property
    def previous_query(self) -> str:
        return self.query(page=self.page.previous_page_number(), sort=self.order)

    @property
    def next_query(self) -> str:
        return self.query(page=self.page.next_page_number(), sort=self.order)

    def matrix(self) -> tuple[list[str], list[list[Any]]]:
        """Heads and raw values of all rows in the order shown, for exports."""
        columns = [c for c in self.columns if not c.cell]
        return (
            [str(c.label) for c in columns],
            [[c.of(row) for c in columns] for row in self.ordered],
        )


def sort_key(value: Any) -> Any:
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, tuple | list):
        return tuple(str(part) for part in value)
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    return getattr(value, "amount", value) if not isinstance(value, SafeString) else str(value)


def join(parts: Sequence[Any], separator: str = " · ") -> SafeString:
    return SafeString(separator.join(conditional_escape(p) for p in parts if p))
