"""A month's ledger entries for journal and beancount, for those who may see the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from django.db.models import QuerySet

from governance.budgets import queries as budgets
from governance.kernel.periods import add_months
from governance.kernel.policy import Actor, require
from governance.reports.domain.journal import Entry, Side


def ledger_entries(viewer: Actor, first: date) -> Iterator[Entry]:
    """Transactions booked in the month, oldest first; refused at once, not in the stream."""
    require(viewer, "exports.run")
    rows = budgets.transactions(viewer).filter(
        booked_on__gte=first, booked_on__lt=add_months(first, 1)
    )
    return _entries(rows)


def _entries(rows: QuerySet[Any]) -> Iterator[Entry]:
    for row in rows.order_by("booked_on", "pk").iterator(chunk_size=2_000):
        yield Entry(
            key=row.key,
            day=row.booked_on,
            memo=row.memo or row.key,
            sides=[
                Side(p.account.code, p.account.name, p.account.kind, p.amount, p.currency)
                for p in row.postings.all()
            ],
        )
