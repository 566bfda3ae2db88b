"""Reminders, going up a level, expiry: by working hours, and once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from governance.budgets.models import Budget
from governance.kernel.errors import Denied, Invalid
from governance.plumbing.models import OutboxEvent
from governance.requests import queries, services
from governance.requests.domain import approval
from governance.requests.models import ApprovalStep, CalendarDay
from tests.requests import market


def test_reminded_once_when_due(stage: market.Stage) -> None:
    row = market.submitted(stage, days=30)
    assert services.watch(now=row.due_at - timedelta(minutes=1))["reminded"] == 0
    assert services.watch(now=row.due_at)["reminded"] == 1
    assert services.watch(now=row.due_at)["reminded"] == 0
    assert OutboxEvent.objects.filter(kind="request.overdue").count() == 1


def test_due_time_skips_holidays(stage: market.Stage) -> None:
    services.import_calendar(
        actor=stage.house.admin,
        data=b"day,kind,name\n2026-12-01,holiday,x\n2026-12-02,holiday,x\n",
        now=stage.now,
    )
    row = market.submitted(stage)
    assert queries.local_day(row.due_at).isoformat() == "2026-12-03"


def test_unanswered_goes_up_a_level(stage: market.Stage) -> None:
    row = market.submitted(stage, days=30)
    late = stage.now + timedelta(days=6)
    assert services.watch(now=late)["raised"] == 1
    assert services.watch(now=late)["raised"] == 0
    step = ApprovalStep.objects.get(request=row)
    assert (step.ability, step.raised_from) == ("requests.approve_finance", "requests.approve")
    with pytest.raises(Denied):
        services.approve(actor=stage.house.approver, request_id=row.pk, now=late)
    assert services.approve(actor=stage.house.finance, request_id=row.pk, now=late).state == (
        "approved"
    )


def test_unanswered_expires(stage: market.Stage) -> None:
    row = market.submitted(stage, days=30)
    assert services.watch(now=stage.now + timedelta(days=15))["expired"] == 1
    row.refresh_from_db()
    assert (row.state, row.waits_for) == ("expired", "")


def test_approved_but_never_bought_gives_the_money_back(stage: market.Stage) -> None:
    row = market.approved(stage)
    assert Budget.objects.get(pk=stage.budget_id).held > 0
    assert services.watch(now=row.ends_at)["expired"] == 1
    assert Budget.objects.get(pk=stage.budget_id).held == 0


class TestPolicy:
    def set(self, at: market.Stage, rules: dict[str, Any], **options: Any) -> Any:
        return services.set_policy(
            **{
                "actor": at.house.admin,
                "rules": rules,
                "valid_from": at.now,
                "note": "two sign",
                "now": at.now,
                **options,
            }
        )

    def test_next_version_decides_next_requests_only(self, stage: market.Stage) -> None:
        before = market.submitted(stage)
        rules = {
            "rules": [
                {"name": "all", "ability": "requests.approve"},
                {"name": "finance too", "ability": "requests.approve_finance"},
            ]
        }
        self.set(stage, rules)
        after = market.submitted(stage)
        assert (before.steps.count(), after.steps.count()) == (1, 2)
        half = services.approve(actor=stage.house.approver, request_id=after.pk, now=stage.now)
        assert (half.state, half.waits_for) == ("submitted", "requests.approve_finance")
        assert Budget.objects.get(pk=stage.budget_id).held == 0
        done = services.approve(actor=stage.house.finance, request_id=after.pk, now=stage.now)
        assert done.state == "approved"

    def test_only_an_administrator_and_never_for_the_past(self, stage: market.Stage) -> None:
        with pytest.raises(Denied):
            self.set(stage, approval.DEFAULT, actor=stage.house.approver)
        with pytest.raises(Invalid):
            self.set(stage, approval.DEFAULT, valid_from=stage.now - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("day,kind\n2026-13-01,holiday\n", "2:day"),
        ("day,kind\n2026-10-01,party\n", "2:kind"),
        ("day,kind\n2026-10-01,holiday\n2026-10-01,holiday\n", "3:day"),
        ("day\n2026-10-01\n", "1:day"),
        ("day,kind\n", "file"),
    ],
)
def test_a_wrong_calendar_names_its_place_and_keeps_the_old(
    stage: market.Stage, text: str, field: str
) -> None:
    good = b"day,kind,name\n2026-10-01,holiday,National Day\n"
    services.import_calendar(actor=stage.house.admin, data=good, now=stage.now)
    with pytest.raises(Invalid) as refusal:
        services.import_calendar(actor=stage.house.admin, data=text.encode(), now=stage.now)
    assert refusal.value.field == field
    assert CalendarDay.objects.count() == 1
