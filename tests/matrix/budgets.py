"""Routes of budgets, ledger and exchange rates."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from governance.budgets import services
from governance.kernel.policy import SYSTEM
from tests.matrix.shapes import EVERYBODY, INSIDERS, Route

FINANCE: dict[str, Any] = {"allow": {"finance"}, "forbidden": EVERYBODY}
OF_THE_TEAM: dict[str, Any] = {"allow": {"finance"}, "forbidden": INSIDERS}
LEDGER: dict[str, Any] = {"allow": {"finance", "auditor"}, "forbidden": EVERYBODY}
RATE = {"base": "USD", "quote": "CNY", "day": "2026-01-01", "rate": "7.1", "source": "bank"}


def prepare(world: Any) -> None:
    """A budget of the team's project."""
    world.budget_id = services.create_budget(
        actor=SYSTEM,
        unit="month",
        first_day=date(2026, 1, 1),
        currency="CNY",
        limit=Decimal(1000),
        project_id=world.house.project.pk,
    )


def budget(world: Any) -> list[Any]:
    return [world.budget_id]


def new(world: Any) -> dict[str, Any]:
    return {
        "owner": f"team:{world.house.team.pk}",
        "team": world.house.team.pk,
        "unit": "month",
        "first_day": "2026-02-01",
        "currency": "CNY",
        "limit": "10.00",
    }


LIMIT = {"limit": "2000", "reason": "more"}
OVERDRAFT = {
    "amount": "10",
    "reason": "launch",
    "expires_on": "2099-01-01",
    "expires_at": "2099-01-01T00:00:00Z",
}

ROUTES = [
    Route("budgets:list"),
    Route("budgets:new", **FINANCE),
    Route("budgets:new", "POST", data=new, **FINANCE),
    Route("budgets:detail", args=budget, allow=INSIDERS),
    Route("budgets:change_limit", "POST", args=budget, data=lambda w: LIMIT, **OF_THE_TEAM),
    Route("budgets:overdraft", "POST", args=budget, data=lambda w: OVERDRAFT, **OF_THE_TEAM),
    Route("budgets:ledger", **LEDGER),
    Route("budgets:rates"),
    Route("budgets:rates", "POST", data=lambda w: RATE, **FINANCE),
    Route("api:budgets"),
    Route("api:budgets", "POST", data=new, **FINANCE),
    Route("api:budget", args=budget, allow=INSIDERS),
    Route("api:budget-limit", "POST", args=budget, data=lambda w: LIMIT, **OF_THE_TEAM),
    Route("api:budget-overdraft", "POST", args=budget, data=lambda w: OVERDRAFT, **OF_THE_TEAM),
    Route("api:budget-entries", args=budget, allow=INSIDERS),
    Route("api:ledger-accounts", **LEDGER),
    Route("api:fx-rates"),
    Route("api:fx-rates", "POST", data=lambda w: RATE, **FINANCE),
]
