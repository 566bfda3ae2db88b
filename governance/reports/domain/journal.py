"""The ledger for others: a journal for finance as CSV, and beancount text.

beancount (an accounting program with text files) is the outside judge of double entry: every
transaction must balance, every account be opened before it is used."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from governance.reports.domain.tables import guard

ROOTS = {
    "asset": "Assets",
    "liability": "Liabilities",
    "expense": "Expenses",
    "income": "Income",
}
JOURNAL = ("date", "transaction", "memo", "account", "name", "debit", "credit", "currency")


@dataclass(frozen=True, slots=True)
class Side:
    """One posting: plus is debit, minus is credit."""

    account: str
    name: str
    kind: str
    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A balanced transaction."""

    key: str
    day: date
    memo: str
    sides: Sequence[Side]


def journal_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """A line per posting, debit and credit in columns of their own."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(JOURNAL)
    for entry in entries:
        for side in entry.sides:
            writer.writerow(
                [
                    entry.day.isoformat(),
                    guard(entry.key),
                    guard(entry.memo),
                    guard(side.account),
                    guard(side.name),
                    f"{side.amount:f}" if side.amount > 0 else "",
                    f"{-side.amount:f}" if side.amount < 0 else "",
                    side.currency,
                ]
            )
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def account_name(side: Side) -> str:
    """A beancount account: the root of its kind, then the code's parts, each begun with a capital
    or a figure; signs that it does not take become a hyphen."""
    parts = []
    for part in side.account.split(":"):
        plain = re.sub(r"[^A-Za-z0-9\u0080-\U0010ffff-]+", "-", part).strip("-") or "X"
        first = plain[0]
        parts.append(plain if first.isdigit() else first.upper() + plain[1:])
    return ":".join([ROOTS.get(side.kind, "Equity"), *parts])


def beancount_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """The entries as beancount text; accounts are opened on the day of their first posting."""
    opened: set[str] = set()
    yield 'option "title" "Compute Ledger"\n\n'
    for entry in entries:
        for side in entry.sides:
            name = account_name(side)
            if name not in opened:
                opened.add(name)
                yield f"{entry.day.isoformat()} open {name}\n"
        yield f'{entry.day.isoformat()} * "{_quoted(entry.memo)}" ^{_link(entry.key)}\n'
        for side in entry.sides:
            yield f"  {account_name(side)}  {side.amount:f} {side.currency}\n"
        yield "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _link(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9\-_/.]+", "-", key)
