"""Bringing a running team's budgets in: all rows or none."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from governance.accounts import queries as accounts
from governance.budgets.models import UNITS, Budget
from governance.budgets.services.limits import create_budget
from governance.kernel.errors import DomainError
from governance.kernel.policy import Actor, require
from governance.plumbing.tabular import Faults, Row, read_rows

NEEDED = ("owner", "name", "unit", "first_day", "currency", "limit")
COLUMNS = (*NEEDED, "with_tax")


@dataclass
class ImportReport:
    """What an import did (or, dry, would do), and its faults line by line."""

    made: int
    same: int
    faults: list[str]


def import_budgets(*, actor: Actor, data: bytes, dry_run: bool = False) -> ImportReport:
    """Rows `owner (team, project, cost_centre), name (its short name or code), unit, first_day,
    currency, limit, with_tax`. One fault and nothing is written; a budget that is there with the
    same limit counts as the same, with another limit it is a fault."""
    require(actor, "budgets.manage")
    faults, report = Faults(), ImportReport(0, 0, [])
    with transaction.atomic():
        for row in read_rows(data, COLUMNS, NEEDED, faults):
            _bring(actor, row, report)
        report.faults = faults.lines
        if report.faults or dry_run:
            transaction.set_rollback(True)
    return report


def _bring(actor: Actor, row: Row, report: ImportReport) -> None:
    before = len(row.faults.lines)
    kind = row.choice("owner", ("team", "project", "cost_centre"))
    name, unit, day = row.text("name"), row.choice("unit", tuple(UNITS)), row.day("first_day")
    currency, limit = row.text("currency"), row.decimal("limit")
    with_tax = row.flag("with_tax") if row.cells.get("with_tax") else True
    owner = accounts.owner_named(kind, name) if name else None
    if name and owner is None:
        row.fault("name", f"there is no {kind.replace('_', ' ')} “{name}”")
    if len(row.faults.lines) > before or day is None or owner is None:
        return
    try:
        with transaction.atomic():
            create_budget(
                actor=actor,
                unit=unit,
                first_day=day,
                currency=currency,
                limit=limit,
                with_tax=with_tax,
                **{f"{kind}_id": owner},
            )
            report.made += 1
    except DomainError as error:
        known = Budget.objects.filter(
            **{f"{kind}_id": owner}, unit=unit, limit=limit, currency=currency, with_tax=with_tax
        )
        if any(budget.first_day == day for budget in known):
            report.same += 1
        else:
            row.fault(getattr(error, "field", None) or "file", str(error))
