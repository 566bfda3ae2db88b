"""CSV that spreadsheet programs open rightly: UTF-8 with mark, text never run as a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.http import StreamingHttpResponse

_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: Any) -> Any:
    """Numbers as they are; text that a spreadsheet would run gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float | Decimal):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    text = str(value)
    return f"'{text}" if text.lstrip(" ").startswith(_RISKY) or text[:1] in _RISKY else text


class _Echo:
    def write(self, text: str) -> str:
        return text


def lines(heads: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The file's lines, one at a time."""
    writer = csv.writer(_Echo())
    yield "\ufeff" + writer.writerow([cell(head) for head in heads])
    for row in rows:
        yield writer.writerow([cell(value) for value in row])


def csv_answer(
    name: str, heads: Sequence[Any], rows: Iterable[Sequence[Any]]
) -> StreamingHttpResponse:
    """A download that is written while it is read from the database."""
    answer = StreamingHttpResponse(lines(heads, rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer
