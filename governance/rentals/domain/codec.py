"""Plans and refund rules as JSON, frozen in a rental when it is opened."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from decimal import Decimal
from typing import Any

from governance.rentals.domain.termination import TerminationRule
from governance.rentals.domain.terms import Plan, Tax


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan with decimals as text; `plan_from_json` reads it back to an equal plan."""
    data: dict[str, Any] = {}
    for field in fields(plan):
        value = getattr(plan, field.name)
        if isinstance(value, Tax):
            value = {"rate": str(value.rate), "inclusive": value.inclusive}
        elif isinstance(value, Decimal):
            value = str(value)
        elif isinstance(value, date):
            value = value.isoformat()
        data[field.name] = value
    return data


def plan_from_json(data: dict[str, Any]) -> Plan:
    values = dict(data)
    values["price"] = Decimal(values["price"])
    values["minimum"] = Decimal(values.get("minimum", "0"))
    tax = values.get("tax")
    values["tax"] = None if tax is None else Tax(Decimal(tax["rate"]), tax["inclusive"])
    if values.get("anchor", "start") not in ("start", "calendar"):
        values["anchor"] = date.fromisoformat(values["anchor"])
    return Plan(**values)


def rule_to_json(rule: TerminationRule) -> dict[str, Any]:
    return {
        field.name: str(value) if isinstance(value, Decimal) else value
        for field in fields(rule)
        for value in [getattr(rule, field.name)]
    }


def rule_from_json(data: dict[str, Any] | None) -> TerminationRule | None:
    if data is None:
        return None
    values: dict[str, Any] = {
        name: Decimal(value) if name not in ("name", "factor_days") else value
        for name, value in data.items()
    }
    return TerminationRule(**values)
