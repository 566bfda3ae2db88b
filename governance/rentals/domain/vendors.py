"""The vendors' documented billing rules as data: how a plan is metered, cut, rounded, refunded."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any

from governance.kernel.periods import calendar_start
from governance.rentals.domain.termination import TerminationRule
from governance.rentals.domain.terms import Plan, PlanKind, Tax


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One vendor's way of charging. `start` hour: the term begins at the full hour before."""

    name: str
    kinds: tuple[str, ...]
    fields: dict[str, Any]
    start: str
    refund: str
    source: str

    def plan(self, kind: PlanKind, price: Decimal, *, places: int, tax: Tax | None = None) -> Plan:
        """A plan of the kind at the price by these rules; `ValueError` if they are not for it."""
        if kind not in self.kinds:
            raise ValueError(f"{self.name} is for {', '.join(self.kinds)} plans, not {kind}")
        return replace(Plan(kind=kind, price=price, places=places, tax=tax), **self.fields)

    def begins(self, moment: datetime) -> datetime:
        """When a term bought at the moment begins."""
        return calendar_start(moment, "hour", UTC) if self.start == "hour" else moment

    def termination(
        self,
        *,
        monthly: Decimal = Decimal(0),
        hourly: Decimal = Decimal(0),
        listed: Decimal = Decimal(0),
        discount: Decimal = Decimal(1),
    ) -> TerminationRule:
        """The refund rule with the prices it counts by."""
        return TerminationRule(
            name=self.refund,  # type: ignore[arg-type]
            monthly=monthly,
            hourly=hourly,
            daily=monthly / 30,
            listed=listed,
            discount=discount,
        )


@cache
def rule_sets() -> dict[str, RuleSet]:
    """All rule sets by name."""
    text = resources.files("governance.rentals").joinpath("data/vendor_rules.csv")
    with text.open(encoding="utf-8") as file:
        return {row["name"]: _rule_set(row) for row in csv.DictReader(file)}


def _rule_set(row: dict[str, str]) -> RuleSet:
    names = ("settlement", "bill", "proration", "basis", "rounding", "change_day")
    fields: dict[str, Any] = {name: row[name] for name in names}
    fields["day_end"] = row["day_end"] == "yes"
    fields["minimum"] = Decimal(row["minimum"])
    return RuleSet(
        name=row["name"],
        kinds=tuple(row["kinds"].split()),
        fields=fields,
        start=row["start"],
        refund=row["refund"],
        source=row["source"],
    )
