"""Many requests from one CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason
from governance.requests.domain.spec import NAMES

MAX_ROWS, MAX_BYTES = 1_000, 2_000_000
FRAME = ("project", "business_type", "starts_at", "needed_by", "reason", "worth", "package")
SPEC = tuple(name for name in NAMES if name not in FRAME)
COLUMNS = (*FRAME, *SPEC)
_NEEDED = ("project", "business_type", "starts_at")


def read_rows(data: bytes) -> list[dict[str, str]]:
    """The rows of a file in UTF-8 with a header line. Invalid names line and column."""
    if len(data) > MAX_BYTES:
        raise bad(0, "file", N_("the file is larger than 2 MB"))
    lines = _lines(data)
    if len(lines) < 2:
        raise bad(0, "file", N_("a header line and at least one row are needed"))
    if len(lines) - 1 > MAX_ROWS:
        raise bad(0, "file", N_("at most 1,000 rows at a time"))
    head = [name.strip() for name in lines[0][1]]
    for name in head:
        if name not in COLUMNS or head.count(name) > 1:
            raise bad(lines[0][0], name, N_("this column is not known, or stands twice"))
    for name in _NEEDED:
        if name not in head:
            raise bad(lines[0][0], name, N_("this column is needed"))
    rows = []
    for number, line in lines[1:]:
        if len(line) != len(head):
            raise bad(number, "file", N_("the line has another number of cells than the header"))
        rows.append({"": str(number), **{n: c.strip() for n, c in zip(head, line, strict=True)}})
    return rows


def _lines(data: bytes) -> list[tuple[int, list[str]]]:
    """(line number, cells) of every line that is not blank."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad(0, "file", N_("the file is not in UTF-8")) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise bad(reader.line_num, "file", N_("the line is not proper CSV")) from error


def moment(raw: Any, zone: tzinfo, line: int, name: str) -> datetime | None:
    """An ISO date and time, in the organisation's zone unless it says its own."""
    if raw in (None, ""):
        return None
    if isinstance(raw, datetime):
        return raw
    try:
        found = datetime.fromisoformat(str(raw))
    except ValueError as error:
        raise bad(line, name, N_("a time such as 2026-12-01T09:00 is needed")) from error
    return found if found.tzinfo else found.replace(tzinfo=zone)


def spec_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that belong to the spec."""
    return {name: row[name] for name in SPEC if row.get(name) not in (None, "")}


def bad(line: int, column: str, text: str) -> Invalid:
    """A fault in the file, with its place."""
    if not line:
        return Invalid(Reason("file", text), column)
    return Invalid(
        Reason(
            "row",
            N_("Line %(line)s, %(column)s: %(fault)s"),
            {"line": line, "column": column, "fault": text},
        ),
        f"{line}:{column}",
    )
