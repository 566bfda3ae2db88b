"""Reading CSV input row by row, every fault named by line and column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from decimal import Decimal, InvalidOperation

from governance.kernel.errors import Invalid
from governance.kernel.periods import local_midnight
from governance.kernel.reasons import N_, Reason

YES, NO = {"yes", "true", "1", "y", "是"}, {"", "no", "false", "0", "n", "否"}


@dataclass
class Faults:
    """Faults of a file in the order of its lines; told all at once."""

    lines: list[str] = field(default_factory=list)

    def add(self, line: int, column: str, text: str) -> None:
        self.lines.append(f"line {line}, {column}: {text}")


@dataclass
class Row:
    """One row's cells by column; a cell that cannot be read adds a fault and gives a stand-in."""

    line: int
    cells: dict[str, str]
    faults: Faults

    def fault(self, column: str, text: str) -> None:
        self.faults.add(self.line, column, text)

    def text(self, column: str, default: str | None = None) -> str:
        value = self.cells.get(column, "")
        if value or default is not None:
            return value or (default or "")
        self.fault(column, "missing")
        return ""

    def decimal(self, column: str, default: Decimal | None = None) -> Decimal:
        value = self.text(column, None if default is None else "")
        if not value:
            return Decimal(0) if default is None else default
        try:
            number = Decimal(value)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or number < 0 or number >= 10**15:
            self.fault(column, f"“{value}” is not a number of 0 or more, such as 2304.00")
            return Decimal(0)
        return number

    def whole(self, column: str, default: int | None = None) -> int:
        number = self.decimal(column, None if default is None else Decimal(default))
        if number != int(number) or not 1 <= number <= 1_000_000:
            value = self.cells.get(column, "")
            if value:
                self.fault(column, f"“{value}” is not a whole number from 1 on")
            return 1
        return int(number)

    def flag(self, column: str) -> bool:
        value = self.cells.get(column, "").lower()
        if value not in YES | NO:
            self.fault(column, f"“{value}” is not yes or no")
        return value in YES

    def choice(self, column: str, options: Sequence[str], default: str | None = None) -> str:
        value = self.text(column, default)
        if value and value not in options:
            self.fault(column, f"“{value}” is not one of {', '.join(options)}")
        return value if value in options else options[0]

    def day(self, column: str) -> date | None:
        value = self.text(column)
        try:
            return date.fromisoformat(value) if value else None
        except ValueError:
            self.fault(column, f"“{value}” is not a date such as 2026-11-01")
            return None

    def moment(self, column: str, zone: tzinfo, *, needed: bool = False) -> datetime | None:
        """ISO 8601; a date alone is local midnight, a time without offset is local."""
        value = self.text(column, None if needed else "")
        if not value:
            return None
        try:
            if len(value) == 10:
                return local_midnight(date.fromisoformat(value), zone)
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fault(column, f"“{value}” is not a time such as 2026-11-01T09:00:00+08:00")
            return None
        return found if found.tzinfo else found.replace(tzinfo=zone)


def read_rows(
    data: bytes, columns: Sequence[str], needed: Sequence[str], faults: Faults
) -> Iterator[Row]:
    """Rows of a CSV file in UTF-8 with a header line. Invalid for a file that is none, or whose
    header lacks a needed column or names one that is not known."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(Reason("csv", N_("The file is not in UTF-8.")), "file") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise Invalid(Reason("csv", N_("The file is not proper CSV.")), "file") from error
    head = [name.strip() for name in lines[0][1]] if lines else []
    missing = [name for name in needed if name not in head]
    unknown = [name for name in head if name not in columns or head.count(name) > 1]
    if missing or unknown:
        raise Invalid(
            Reason(
                "csv_columns",
                N_("The header needs %(needed)s and may have %(columns)s; not: %(wrong)s."),
                {
                    "needed": ", ".join(needed),
                    "columns": ", ".join(columns),
                    "wrong": ", ".join(unknown) or "-",
                },
            ),
            (unknown or missing)[0],
        )
    for number, cells in lines[1:]:
        if len(cells) != len(head):
            faults.add(number, "file", f"{len(cells)} cells, the header has {len(head)}")
            continue
        yield Row(number, {n: c.strip() for n, c in zip(head, cells, strict=True)}, faults)
