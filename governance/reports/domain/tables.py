"""A report's answer, and the files made from it: what is shown is what is exported.

Cells are plain values (Decimal, float, int, str, date, datetime, None). Names of columns and
notes are English message ids; whoever renders them translates."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Any

import xlsxwriter

from governance.kernel.reasons import N_, Reason

Translate = Callable[[str], str]
Cell = Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a report. `key` is its name in JSON and CSV (an empty `name`: not on the page);
    `kind` says how it is written: text, money, number, share, hours, bytes, count, day, moment;
    `formula` is the key of the registry of key figures that explains it; `sub` the key of a column
    written small beneath it on the page."""

    key: str
    name: str
    kind: str = "text"
    unit: str = ""
    formula: str = ""
    measured: bool = False
    places: int | None = None
    sub: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a report says. `rows` hold a value per column key and may hold more (`href` ...);
    `total` likewise; `filters` are the values that were asked for, as text."""

    name: str
    title: str
    first: date
    last: date
    timezone: str
    currency: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    total: Mapping[str, Cell] = field(default_factory=dict)
    notes: Sequence[Reason] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    generated_at: datetime | None = None


BOM = "\ufeff"
_FORMULA = re.compile(r"^[\s\u00a0]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_PLAIN_NUMBER = re.compile(r"^-?\d+(\.\d+)?$")


def guard(text: str) -> str:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay."""
    if _FORMULA.match(text) and not _PLAIN_NUMBER.match(text):
        return f"'{text}"
    return text


def plain(value: Cell) -> str:
    """A cell as text: no exponent, no thousands, times in ISO 8601, unknown empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return guard(", ".join(plain(part) for part in value))
    if isinstance(value, Reason):
        return guard(str(value))
    return guard(str(value))


def as_json(value: Cell) -> Any:
    """A cell as JSON: money and exact numbers as decimal text, unknown as null."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    if isinstance(value, Mapping):
        return {key: as_json(part) for key, part in value.items()}
    return str(value) if isinstance(value, Reason) else plain(value)


def json_answer(result: Result) -> dict[str, Any]:
    """The answer of the API and of `manage.py report`."""
    keys = [column.key for column in result.columns]
    return {
        "report": result.name,
        "from": result.first.isoformat(),
        "to": result.last.isoformat(),
        "timezone": result.timezone,
        "currency": result.currency,
        "generated_at": plain(result.generated_at) or None,
        "filters": dict(result.filters),
        "rows": [{key: as_json(row.get(key)) for key in keys} for row in result.rows],
        "total": {key: as_json(value) for key, value in result.total.items() if key in keys},
        "notes": [str(note) for note in result.notes],
    }


def csv_lines(result: Result, *, bom: bool = False) -> Iterator[str]:
    """RFC 4180 text line by line, keys as header; the total is not a row."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)

    def taken() -> str:
        text = buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        return text

    keys = [column.key for column in result.columns]
    writer.writerow(keys)
    yield (BOM if bom else "") + taken()
    for row in result.rows:
        writer.writerow([plain(row.get(key)) for key in keys])
        yield taken()


_FORMATS = {
    "money": "#,##0.00",
    "number": "#,##0.00####",
    "share": "0.00%",
    "hours": "#,##0.00",
    "bytes": "#,##0",
    "count": "#,##0",
    "day": "yyyy-mm-dd",
    "moment": "yyyy-mm-dd hh:mm",
}


def xlsx(result: Result, zone: tzinfo, translate: Translate = str) -> bytes:
    """A workbook as a person would want it: numbers as numbers, frozen head, a sheet that says
    what was asked. Times are in the report's zone (spreadsheets know none)."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_formulas": False})
    head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
    bold = {
        kind: book.add_format({"num_format": f, "bold": True, "top": 1})
        for kind, f in {**_FORMATS, "text": "General"}.items()
    }
    formats = {kind: book.add_format({"num_format": f}) for kind, f in _FORMATS.items()}
    sheet = book.add_worksheet(translate(result.title)[:31])
    shown = [column for column in result.columns if column.name]
    for place, column in enumerate(shown):
        unit = f" ({translate(column.unit)})" if column.unit else ""
        sheet.write_string(0, place, translate(column.name) + unit, head)
    for line, row in enumerate(result.rows, start=1):
        for place, column in enumerate(shown):
            _put(sheet, line, place, row.get(column.key), formats.get(column.kind), zone, translate)
    if result.total and result.rows:
        line = len(result.rows) + 1
        for place, column in enumerate(shown):
            value = result.total.get(column.key)
            if place == 0 and value is None:
                value = translate(N_("Total"))
            _put(sheet, line, place, value, bold.get(column.kind, bold["text"]), zone, translate)
    sheet.freeze_panes(1, 1)
    if result.rows:
        sheet.autofilter(0, 0, len(result.rows), max(0, len(shown) - 1))
    sheet.autofit(360)
    _about(book.add_worksheet(translate(N_("About"))), result, head, translate)
    book.close()
    return out.getvalue()


def _put(
    sheet: Any, line: int, place: int, value: Cell, style: Any, zone: tzinfo, translate: Translate
) -> None:
    if value is None:
        sheet.write_blank(line, place, None, style)
    elif isinstance(value, bool):
        sheet.write_boolean(line, place, value, style)
    elif isinstance(value, int | float | Decimal):
        sheet.write_number(line, place, value, style)
    elif isinstance(value, datetime):
        local = value.astimezone(zone).replace(tzinfo=None) if value.tzinfo else value
        sheet.write_datetime(line, place, local, style)
    elif isinstance(value, date):
        sheet.write_datetime(line, place, datetime(value.year, value.month, value.day), style)  # noqa: DTZ001
    elif isinstance(value, Reason):
        sheet.write_string(line, place, value.render(translate), style)
    elif isinstance(value, list | tuple):
        sheet.write_string(line, place, ", ".join(plain(part) for part in value), style)
    else:
        sheet.write_string(line, place, str(value), style)


def _about(sheet: Any, result: Result, head: Any, translate: Translate) -> None:
    lines = [
        (N_("Report"), translate(result.title)),
        (N_("From"), result.first.isoformat()),
        (N_("To"), result.last.isoformat()),
        (N_("Time zone"), result.timezone),
        (N_("Currency"), result.currency),
        (N_("Made at"), plain(result.generated_at)),
        *[(key, value) for key, value in result.filters.items()],
        *[("", note.render(translate)) for note in result.notes],
    ]
    for line, (name, value) in enumerate(lines):
        sheet.write_string(line, 0, translate(name) if name else "", head)
        sheet.write_string(line, 1, value)
    sheet.set_column(0, 0, 18)
    sheet.set_column(1, 1, 80)
