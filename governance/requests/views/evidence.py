"""What an approver weighs: budgets before and after, and what upper rooms add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from governance.budgets import queries as budgets
from governance.kernel.errors import Refused
from governance.kernel.money import Money
from governance.requests import queries
from governance.requests.models import ComputeRequest
from governance.requests.presenting import PackageRow


@dataclass(frozen=True)
class BudgetLine:
    """A budget with the asked amount added; `asked` is None without an exchange rate."""

    name: str
    period: str
    currency: str
    limit: Decimal
    held: Decimal
    spent: Decimal
    asked: Decimal | None

    @property
    def free(self) -> Decimal:
        return self.limit - self.held - self.spent

    @property
    def after(self) -> Decimal | None:
        return None if self.asked is None else self.free - self.asked

    @property
    def over(self) -> bool:
        return self.after is not None and self.after < 0


def budget_lines(
    project: Any,
    chosen: PackageRow | None,
    starts_at: datetime,
    now: datetime,
    row: ComputeRequest | None = None,
) -> list[BudgetLine]:
    """Budgets that the cost counts against at its start; a hold that stands is not added again."""
    asked: Money | None = None
    if chosen is not None:
        highest = max(chosen.package.cost, chosen.package.cost_high)
        asked = Money(highest, chosen.package.currency).rounded()
    elif row is not None and row.amount is not None and not row.hold_key:
        asked = Money(row.amount, row.currency)
    found = budgets.budgets_for_project(project.pk, max(starts_at, now))
    day = queries.local_day(now)
    lines = []
    for budget, position in budgets.positions(found, now):
        added: Decimal | None = Decimal(0)
        if asked is not None:
            try:
                rate = budgets.fx_rate(asked.currency, budget.currency, day)
                added = rate.convert(asked, budget.currency).amount
            except Refused:
                added = None
        lines.append(
            BudgetLine(
                str(budget.owner),
                budget.label,
                budget.currency,
                position.limit,
                position.held,
                position.spent,
                added,
            )
        )
    return lines


def tightest(lines: Sequence[BudgetLine]) -> BudgetLine | None:
    """The budget with the least left after the request."""
    known = [line for line in lines if line.after is not None]
    return min(known, key=lambda line: line.after or Decimal(0), default=None)


def budgets_of(rows: Sequence[ComputeRequest], now: datetime) -> dict[int, list[BudgetLine]]:
    """Budget lines of many requests with a fixed number of queries."""
    found = budgets.budgets_of_projects([row.project for row in rows], now)
    lines: dict[int, list[BudgetLine]] = {row.pk: [] for row in rows}
    for row in rows:
        start = max(row.starts_at, now)
        for budget, position in found.get(row.project_id, ()):
            if not budget.starts_at <= start < budget.ends_at:
                continue
            same = row.currency == budget.currency and row.amount is not None
            lines[row.pk].append(
                BudgetLine(
                    str(budget.owner),
                    budget.label,
                    budget.currency,
                    position.limit,
                    position.held,
                    position.spent,
                    row.amount if same else None,
                )
            )
    return lines
