"""Approvals: money with the signature, never one's own, once even if posted twice."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from governance.accounts.models import Grant
from governance.budgets.models import Budget
from governance.kernel.errors import Denied, Invalid, Missing, Refused
from governance.plumbing.models import AuditEvent, OutboxEvent
from governance.requests import queries, services
from governance.requests.models import ApprovalStep, ComputeRequest, Signature
from tests import make
from tests.requests import market


def position(at: market.Stage) -> tuple[Decimal, Decimal]:
    budget = Budget.objects.get(pk=at.budget_id)
    return budget.held, budget.spent


def test_approval_places_the_hold_in_the_same_transaction(stage: market.Stage) -> None:
    row = market.submitted(stage)
    assert row.state == "submitted"
    assert position(stage) == (0, 0)
    done = services.approve(actor=stage.house.approver, request_id=row.pk, now=stage.now)
    assert done.state == "approved"
    assert row.amount is not None
    assert position(stage) == (row.amount, 0)
    assert AuditEvent.objects.filter(act="requests.approve", thing_id=str(row.pk)).count() == 1
    assert OutboxEvent.objects.filter(kind="request.approved").count() == 1


def test_second_approval_has_no_effect(stage: market.Stage) -> None:
    row = market.approved(stage)
    before = position(stage), AuditEvent.objects.count(), OutboxEvent.objects.count()
    for act in (services.approve, services.refuse, services.ask_back):
        with pytest.raises(Refused):
            act(actor=stage.house.approver, request_id=row.pk, text="again", now=stage.now)
    assert (position(stage), AuditEvent.objects.count(), OutboxEvent.objects.count()) == before


def test_refused_request_cannot_be_approved(stage: market.Stage) -> None:
    row = market.submitted(stage)
    services.refuse(actor=stage.house.approver, request_id=row.pk, text="no", now=stage.now)
    with pytest.raises(Refused):
        services.approve(actor=stage.house.approver, request_id=row.pk, now=stage.now)
    assert position(stage) == (0, 0)


def test_approval_over_the_budget_says_the_figures_and_changes_nothing(
    house: make.House, now: Any
) -> None:
    at = market.stage(house, now, limit="1.00")
    row = market.submitted(at)
    # A budget exceeded by the request asks for finance too; the last signature is refused.
    services.approve(actor=house.approver, request_id=row.pk, now=now) if len(
        row.steps.all()
    ) > 1 else None
    last = house.finance if row.steps.count() > 1 else house.approver
    with pytest.raises(Refused) as refusal:
        services.approve(actor=last, request_id=row.pk, now=now)
    assert refusal.value.reason.code == "budget"
    assert str(row.amount) in str(refusal.value)
    assert position(at) == (0, 0)
    assert ComputeRequest.objects.get(pk=row.pk).state == "submitted"


class TestOwnRequest:
    """The requester never decides: as approver, by a token, as a delegate, by a second role."""

    def test_as_approver(self, stage: market.Stage) -> None:
        me = make.user("Max", team=stage.house.team, across="approver")
        row = market.submitted(stage, me)
        for act in (services.approve, services.refuse, services.ask_back):
            with pytest.raises(Denied, match="their own request"):
                act(actor=me, request_id=row.pk, text="fine", now=stage.now)
        assert ComputeRequest.objects.get(pk=row.pk).state == "submitted"
        assert AuditEvent.objects.filter(act="requests.approve.denied").count() == 1
        assert row.pk not in [r.pk for r in queries.inbox(me, date(2026, 12, 1))]

    def test_as_delegate_of_another(self, stage: market.Stage) -> None:
        me = stage.house.member
        services.delegate(
            actor=stage.house.approver,
            taker_id=me.pk,
            starts_on=date(2026, 12, 1),
            ends_on=date(2026, 12, 2),
            now=stage.now,
        )
        row = market.submitted(stage, me)
        with pytest.raises(Denied, match="their own request"):
            services.approve(actor=me, request_id=row.pk, now=stage.now)

    def test_by_a_stand_in_of_the_requester(self, stage: market.Stage) -> None:
        asker = make.user("Max", team=stage.house.team, across="approver")
        other = make.user("Olive", team=stage.house.team)
        services.delegate(
            actor=asker,
            taker_id=other.pk,
            starts_on=date(2026, 12, 1),
            ends_on=date(2026, 12, 2),
            now=stage.now,
        )
        row = market.submitted(stage, asker)
        with pytest.raises(Denied, match="requester's name"):
            services.approve(actor=other, request_id=row.pk, now=stage.now)

    def test_sole_approver_goes_up_a_level(self, stage: market.Stage) -> None:
        me = make.user("Max", team=stage.house.team, across="approver")
        Grant.objects.filter(user=stage.house.approver).delete()
        row = market.submitted(stage, me)
        step = ApprovalStep.objects.get(request=row)
        assert (step.ability, step.raised_from) == ("requests.approve_finance", "requests.approve")
        done = services.approve(actor=stage.house.finance, request_id=row.pk, now=stage.now)
        assert done.state == "approved"


class TestDelegation:
    def test_stand_in_signs_for_the_giver(self, stage: market.Stage) -> None:
        other = make.user("Olive", team=stage.house.other_team)
        services.delegate(
            actor=stage.house.approver,
            taker_id=other.pk,
            starts_on=date(2026, 12, 1),
            ends_on=date(2026, 12, 2),
            now=stage.now,
        )
        row = market.submitted(stage)
        assert [r.pk for r in queries.inbox(other, date(2026, 12, 1))] == [row.pk]
        services.approve(actor=other, request_id=row.pk, now=stage.now)
        signature = Signature.objects.get()
        assert (signature.person, signature.on_behalf_of) == (other, stage.house.approver)

    @pytest.mark.parametrize("days", [-1, 3])
    def test_only_on_its_days(self, stage: market.Stage, days: int) -> None:
        other = make.user("Olive", team=stage.house.other_team)
        services.delegate(
            actor=stage.house.approver,
            taker_id=other.pk,
            starts_on=date(2026, 12, 2),
            ends_on=date(2026, 12, 3),
            now=stage.now,
        )
        row = market.submitted(stage, days=10)
        with pytest.raises(Missing):
            services.approve(
                actor=other, request_id=row.pk, now=stage.now + timedelta(days=days + 1)
            )

    def test_ended_at_once(self, stage: market.Stage) -> None:
        other = make.user("Olive", team=stage.house.other_team)
        given = services.delegate(
            actor=stage.house.approver,
            taker_id=other.pk,
            starts_on=date(2026, 12, 1),
            ends_on=date(2026, 12, 3),
            now=stage.now,
        )
        row = market.submitted(stage)
        services.end_delegation(actor=stage.house.approver, delegation_id=given.pk, now=stage.now)
        with pytest.raises(Missing):
            services.approve(actor=other, request_id=row.pk, now=stage.now)


def test_outsider_gets_404_and_member_403(stage: market.Stage) -> None:
    row = market.submitted(stage)
    with pytest.raises(Missing):
        services.approve(actor=stage.house.outsider, request_id=row.pk, now=stage.now)
    with pytest.raises(Denied):
        services.approve(actor=stage.house.lead, request_id=row.pk, now=stage.now)


def test_period_that_passed_is_not_approved(stage: market.Stage) -> None:
    row = market.submitted(stage)
    with pytest.raises(Refused, match="already passed"):
        services.approve(
            actor=stage.house.approver, request_id=row.pk, now=stage.now + timedelta(days=5)
        )


def test_ask_back_and_again(stage: market.Stage) -> None:
    row = market.submitted(stage)
    with pytest.raises(Invalid):
        services.ask_back(actor=stage.house.approver, request_id=row.pk, text=" ", now=stage.now)
    services.ask_back(
        actor=stage.house.approver, request_id=row.pk, text="Which data?", now=stage.now
    )
    assert queries.messages_of(row)[0].text == "Which data?"
    again = services.submit(actor=stage.house.member, request_id=row.pk, now=stage.now)
    assert (again.state, again.round) == ("submitted", 2)
    assert ApprovalStep.objects.filter(request=row, round=2).count() == 1
    services.approve(actor=stage.house.approver, request_id=row.pk, now=stage.now)
    assert OutboxEvent.objects.filter(kind="request.submitted").count() == 2


class TestConditions:
    def test_kept_as_typed_and_matched_anew(self, stage: market.Stage) -> None:
        row = market.submitted(stage, days=30)
        before = row.package["count"], row.amount
        until = stage.now + timedelta(days=20)
        done = services.approve(
            actor=stage.house.approver,
            request_id=row.pk,
            conditions={"max_cards": before[0], "needed_by": until},
            now=stage.now,
        )
        assert done.conditions == {"max_cards": str(before[0]), "needed_by": str(until)}
        assert done.match_id != row.match_id
        assert position(stage)[0] == done.amount

    def test_dearer_is_a_new_question(self, stage: market.Stage) -> None:
        row = market.submitted(stage, days=30)
        dearer = next(
            p
            for p in services.find_packages(services.ask_of(row), stage.now).packages
            if p.cost_high > row.amount
        )
        with pytest.raises(Refused, match="costs more"):
            services.approve(
                actor=stage.house.approver,
                request_id=row.pk,
                conditions={"package": services.package_key(dearer)},
                now=stage.now,
            )
        assert ComputeRequest.objects.get(pk=row.pk).package == row.package


def test_withdrawing_gives_the_hold_back(stage: market.Stage) -> None:
    row = market.approved(stage)
    assert position(stage)[0] > 0
    services.withdraw(actor=stage.house.member, request_id=row.pk, now=stage.now)
    assert position(stage) == (0, 0)


def test_deviation_goes_back_to_the_approver(stage: market.Stage) -> None:
    row = market.approved(stage)
    buyer = stage.house.operator
    services.mark_purchasing(actor=buyer, request_id=row.pk, now=stage.now)
    asked = row.amount * Decimal("1.1")
    again = services.return_to_approver(
        actor=buyer, request_id=row.pk, amount=asked.quantize(Decimal("0.01")), reason="price",
        now=stage.now,
    )  # fmt: skip
    assert (again.state, again.round) == ("submitted", 2)
    assert position(stage) == (0, 0)
    services.approve(actor=stage.house.approver, request_id=row.pk, now=stage.now)
    assert position(stage)[0] == asked.quantize(Decimal("0.01"))
