"""From lines to entries as they are posted: key, net and tax. Preview and posting both use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal

from governance.kernel.periods import local_date
from governance.rentals.domain.charges import Line, listed_lines
from governance.rentals.domain.taxes import tax_of
from governance.rentals.domain.terms import Tax, Terms

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A charge or credit of a component with its unique key (kind, local start, sequence).

    `booked_on` is the local day on which it counts as billed: the day it fell due, for metered
    lines the last day they cover.
    """

    code: str
    kind: str
    start_local: str
    sequence: int
    line: Line
    net: Decimal
    tax: Decimal
    booked_on: date

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax


def entries(
    lines: Iterable[tuple[str, Terms, Line]],
    *,
    seen: Mapping[tuple[str, str], int],
    quoted: Mapping[tuple[str, Tax], Decimal],
) -> list[Entry]:
    """Entries of lines in order of due time, going on from what was posted before.

    `seen` counts entries per (kind, local start), `quoted` sums quoted amounts per component and
    tax: tax is the step of the rounded tax on the running sum, so no batch changes an amount.
    Lines of nothing (a stopped or free stretch) make no entry.
    """
    counts = Counter(seen)
    sums = dict(quoted)
    taxed: dict[tuple[str, Tax], Decimal] = {}
    made: list[Entry] = []
    for code, terms, line in sorted(lines, key=lambda entry: entry[2].due):
        if not line.amount:
            continue
        kind = code if line.kind == "charge" else f"{code}:{line.kind}"
        start = line.period.start.astimezone(terms.zone).isoformat()
        sequence = counts[kind, start]
        counts[kind, start] += 1
        net, tax = line.amount, ZERO
        if line.tax is not None and line.tax.rate:
            place, rounding = (code, line.tax), (terms.plan.places, terms.plan.rounding)
            before = sums.get(place, ZERO)
            if place not in taxed:
                taxed[place] = tax_of(before, line.tax, *rounding)
            sums[place] = before + line.amount
            whole = tax_of(sums[place], line.tax, *rounding)
            tax, taxed[place] = whole - taxed[place], whole
            net = line.amount - tax if line.tax.inclusive else line.amount
        made.append(Entry(code, kind, start, sequence, line, net, tax, _booked(line, terms.zone)))
    return made


def preview_entries(
    components: Iterable[tuple[str, Terms]], until: datetime | None = None
) -> list[Entry]:
    """Every entry of a whole term, as it would be posted."""
    lines = [
        (code, terms, line) for code, terms in components for line in listed_lines(terms, until)
    ]
    return entries(lines, seen={}, quoted={})


def _booked(line: Line, zone: tzinfo) -> date:
    if line.due == line.period.end:
        return local_date(line.due - timedelta(microseconds=1), zone)
    return local_date(line.due, zone)
