"""Vendors' invoices: reading a CSV by a column mapping, and holding its lines to our charges."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason

COLUMNS = ("rental", "amount", "description")
NEEDED = ("rental", "amount")
State = Literal["matched", "differs", "missing_here", "missing_there"]
STATES: dict[str, str] = {
    "matched": N_("matched"),
    "differs": N_("amount differs"),
    "missing_here": N_("not in our charges"),
    "missing_there": N_("not on the invoice"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an invoice: which rental it names, its net amount."""

    number: int
    rental: str
    amount: Decimal
    description: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A rental on both sides; None where one side knows nothing of it."""

    rental: str
    theirs: Decimal | None
    ours: Decimal | None
    state: State

    @property
    def difference(self) -> Decimal:
        """Theirs minus ours: what an adjustment would book."""
        return (self.theirs or Decimal(0)) - (self.ours or Decimal(0))


def digest(text: str) -> str:
    """The hash by which a repeated import is known."""
    return hashlib.sha256(text.encode()).hexdigest()


def read(text: str, mapping: Mapping[str, str]) -> list[Line]:
    """The lines of a CSV; `mapping` names our column -> theirs (default: the same name).
    Invalid names the line and what would be right; nothing is half-read."""
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    heads = rows.fieldnames or []
    names = {column: mapping.get(column) or column for column in COLUMNS}
    for column in NEEDED:
        if names[column] not in heads:
            wrong = N_("There is no column %(name)s; the file has %(known)s.")
            values = {"name": names[column], "known": ", ".join(heads) or "-"}
            raise Invalid(Reason("column", wrong, values), "columns")
    found = [_line(number, row, names) for number, row in enumerate(rows, start=2)]
    if not found:
        raise Invalid(Reason("empty", N_("The file has no lines.")), "file")
    return found


def _line(number: int, row: Mapping[str, str | None], names: Mapping[str, str]) -> Line:
    text = (row.get(names["amount"]) or "").strip()
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount.as_tuple().exponent < -8:  # type: ignore[operator]
        wrong = N_("Line %(line)d: %(text)s is not an amount; write it as 1234.50.")
        raise Invalid(Reason("amount", wrong, {"line": number, "text": text or "-"}), "file")
    rental = (row.get(names["rental"]) or "").strip()
    if not rental:
        wrong = N_("Line %(line)d names no rental.")
        raise Invalid(Reason("rental", wrong, {"line": number}), "file")
    return Line(number, rental, amount, (row.get(names["description"]) or "").strip()[:300])


def compare(lines: Sequence[Line], ours: Mapping[str, Decimal]) -> list[Compared]:
    """Both sides by rental; several lines of one rental are added up."""
    theirs: dict[str, Decimal] = {}
    for line in lines:
        theirs[line.rental] = theirs.get(line.rental, Decimal(0)) + line.amount
    found = []
    for rental in sorted({*theirs, *ours}):
        one, other = theirs.get(rental), ours.get(rental)
        state: State = "matched"
        if other is None:
            state = "missing_here"
        elif one is None:
            state = "missing_there"
        elif one != other:
            state = "differs"
        found.append(Compared(rental, one, other, state))
    return found
