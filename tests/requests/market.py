"""A small market and acts that most tests of requests begin with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from governance.budgets import services as budgets
from governance.catalog import services as catalog
from governance.kernel.policy import SYSTEM
from governance.requests import services
from governance.requests.models import ComputeRequest
from tests import make

SHEET = """sku,region,card,cards_per_unit,currency,hourly,monthly,annual,as_of
a800,cn-east,A800 80GB SXM,8,CNY,118.40,62000,640000,2026-11-30
h100,cn-east,H100 SXM,8,CNY,342.40,180000,1900000,2026-11-30
4090,cn-south,RTX 4090,1,CNY,2.10,1100,11000,2026-11-30
"""
SPEC: dict[str, Any] = {
    "method": "lora",
    "params_b": 13,
    "samples": 52_300,
    "epochs": 1,
    "seq_len": 1024,
    "max_cards": 8,
}


@dataclass(frozen=True)
class Stage:
    """The house, its market and its time."""

    house: make.House
    now: datetime
    budget_id: int


def stage(house: make.House, now: datetime, limit: str = "10000") -> Stage:
    """Offers of one vendor and a month's budget for the team's project."""
    catalog.seed_catalogue(actor=SYSTEM)
    report = catalog.import_prices(
        actor=SYSTEM, text=SHEET, form="native", vendor="Vendor A", today=now.date()
    )
    assert report.applied, [str(row) for row in report.rows]
    budget = make_budget(house, now, limit)
    return Stage(house, now, budget)


def make_budget(house: make.House, now: datetime, limit: str) -> int:
    return budgets.create_budget(
        actor=house.finance,
        project_id=house.project.pk,
        unit="month",
        first_day=date(now.year, now.month, 1),
        limit=Decimal(limit),
        currency="CNY",
    )


def ask(now: datetime, *, days: int = 4, **changes: Any) -> services.Ask:
    """The usual wish: LoRA of 13B within four days."""
    return services.read_ask(
        {**SPEC, **changes},
        "fine_tuning",
        now + timedelta(hours=1),
        now + timedelta(days=days),
    )


def draft(at: Stage, actor: Any = None, **changes: Any) -> ComputeRequest:
    """A draft of the member."""
    return services.create_draft(
        actor=actor or at.house.member,
        project_id=at.house.project.pk,
        ask=ask(at.now, **changes),
        reason="Second adapter",
        now=at.now,
    )


def submitted(at: Stage, actor: Any = None, **changes: Any) -> ComputeRequest:
    """A request that waits for its first signature."""
    row = draft(at, actor, **changes)
    return services.submit(actor=actor or at.house.member, request_id=row.pk, now=at.now)


def approved(at: Stage, **changes: Any) -> ComputeRequest:
    """A request with its hold on the budget."""
    row = submitted(at, **changes)
    return services.approve(actor=at.house.approver, request_id=row.pk, now=at.now)
