"""From a policy version to the steps of one request, their due times, and who can sign."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from governance.accounts import queries as accounts
from governance.accounts.domain import roles
from governance.budgets import queries as budgets
from governance.kernel.errors import Invalid, Refused
from governance.kernel.money import Money
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.requests import queries
from governance.requests.domain import approval, working_time
from governance.requests.models import ApprovalPolicy, ApprovalStep, ComputeRequest

_TIGHT = Decimal("0.9")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def current_policy(now: datetime) -> tuple[ApprovalPolicy, approval.Policy]:
    """The version in force and its rules; a fresh installation gets its first version here."""
    row = queries.policy_at(now)
    if row is None:
        row, _ = ApprovalPolicy.objects.get_or_create(
            version=1,
            defaults={
                "valid_from": _EPOCH,
                "rules": approval.DEFAULT,
                "created_at": now,
                "created_by": "system",
            },
        )
    return row, approval.read_policy(row.rules, roles.every_ability())


def set_policy(
    *, actor: Actor, rules: Mapping[str, Any], valid_from: datetime, note: str, now: datetime
) -> ApprovalPolicy:
    """A new version, valid from a time that is not past; running chains keep their own."""
    require(actor, "policies.manage")
    approval.read_policy(rules, roles.every_ability())
    if valid_from < now:
        raise Invalid(Reason("past", N_("A policy never reaches into the past.")), "valid_from")
    with transaction.atomic():
        current_policy(now)
        last = ApprovalPolicy.objects.select_for_update(no_key=True).first()
        assert last is not None
        row = ApprovalPolicy.objects.create(
            version=last.version + 1,
            valid_from=valid_from,
            rules=dict(rules),
            note=note,
            created_at=now,
            created_by=actor.display,
        )
        audit.record(
            actor=actor,
            act="policies.set",
            thing=row,
            before={"version": last.version, "rules": last.rules},
            after={"version": row.version, "rules": row.rules, "valid_from": valid_from},
            reason=note,
        )
        return row


def due_after(start: datetime, hours: int) -> datetime:
    """When so many working hours of the organisation have passed."""
    return working_time.after_hours(start, hours, queries.zone(), queries.exceptions())


def facts_of(request: ComputeRequest, policy: approval.Policy, now: datetime) -> approval.Facts:
    """What the rules look at, for the chosen package."""
    package: Mapping[str, Any] = request.package or {}
    return approval.Facts(
        amount=in_currency(request, policy.currency, now),
        term=str(package.get("best_term", "")),
        card=str(package.get("card", "")),
        team=request.project.team.slug,
        budget_state=budget_state(request, now),
        business_type=request.business_type,
        kind=request.kind,
    )


def in_currency(request: ComputeRequest, currency: str, now: datetime) -> Decimal | None:
    """The request's amount in another currency at today's rate; None without a rate."""
    assert request.amount is not None
    try:
        rate = budgets.fx_rate(request.currency, currency, queries.local_day(now))
    except Refused:
        return None
    return rate.convert(Money(request.amount, request.currency), currency).amount


def budget_state(request: ComputeRequest, now: datetime) -> str:
    """How the tightest budget of the project would stand with this request: within, tight (over
    90 % committed), over, or unknown (no budget, or no exchange rate)."""
    found = budgets.budgets_for_project(request.project_id, max(now, request.starts_at))
    states = []
    for budget, position in budgets.positions(found, now):
        asked = in_currency(request, budget.currency, now)
        if asked is None:
            return "unknown"
        after = position.committed + asked
        over = after > position.limit
        states.append("over" if over else "tight" if after > position.limit * _TIGHT else "within")
    order = ("over", "tight", "within")
    return next((state for state in order if state in states), "unknown")


def build(request: ComputeRequest, now: datetime) -> ApprovalPolicy:
    """Write the steps of the request's present round and open the first.

    Refused when nobody but the requester could ever sign a step.
    """
    row, policy = current_policy(now)
    placed: dict[str, dict[str, Any]] = {}
    for step in approval.chain(policy, facts_of(request, policy, now)):
        rung = rung_for(policy, step.ability, step.count, request.requester_id, now)
        place = placed.setdefault(
            rung,
            {
                "count": 0,
                "because": [],
                "raised_from": "" if rung == step.ability else step.ability,
            },
        )
        place["count"] = max(place["count"], step.count)
        place["because"] += step.because
    rows = [
        ApprovalStep(
            request=request, round=request.round, position=n, ability=ability, **placed[ability]
        )
        for n, ability in enumerate(sorted(placed, key=policy.ladder.index), 1)
    ]
    rows[0].opened_at, rows[0].due_at = now, due_after(now, policy.answer_hours)
    ApprovalStep.objects.bulk_create(rows)
    request.policy, request.waits_for, request.due_at = row, rows[0].ability, rows[0].due_at
    request.expires_at = now + timedelta(days=policy.expire_days)
    return row


def rung_for(
    policy: approval.Policy, ability: str, count: int, requester_id: int, now: datetime
) -> str:
    """The ability itself, or the next rung with enough people other than the requester."""
    day = queries.local_day(now)
    enough = {
        rung: accounts.holders(rung, day).exclude(pk=requester_id).count() >= count
        for rung in policy.ladder
    }
    rung = approval.raised(policy.ladder, ability, enough)
    if rung is None:
        raise Refused(
            Reason(
                "nobody_decides",
                N_("Nobody else may decide on this; an administrator must grant the right."),
            )
        )
    return rung


def step_facts(step: ApprovalStep) -> dict[str, Any]:
    """A step for the audit trail."""
    return {"position": step.position, "ability": step.ability, "because": step.because}
