"""What happens around and after the decision: messages, withdrawal, purchase, run, end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from governance.accounts.services import acting
from governance.budgets import services as budgets
from governance.kernel.errors import Busy, Invalid
from governance.kernel.policy import SYSTEM, Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.plumbing.locks import lock_one
from governance.requests import queries
from governance.requests.domain.lifecycle import HOLDING, RELEASING, REQUEST
from governance.requests.models import ComputeRequest, Message, Trial
from governance.requests.policies import person_id
from governance.requests.services import chains
from governance.requests.services.drafting import announce


def withdraw(*, actor: Actor, request_id: int, reason: str = "", now: datetime) -> ComputeRequest:
    """The requester takes it back; a hold on the budget is released with it."""
    with transaction.atomic():
        person = acting(actor)
        seen = queries.request_for(person, request_id)
        require(person, "requests.own", seen)
        return _move(person, seen, "withdraw", "withdrawn", reason, now)


def expire(*, request_id: int, now: datetime) -> ComputeRequest:
    """Nobody answered in time, or what was approved was not bought while its time ran out."""
    with transaction.atomic():
        return _move(SYSTEM, queries.by_id(request_id), "expire", "expired", "", now)


def mark_purchasing(*, actor: Actor, request_id: int, now: datetime) -> ComputeRequest:
    """The buyer has put it on an order."""
    return _mark(actor, request_id, "purchase", "purchasing", now)


def unmark_purchasing(*, actor: Actor, request_id: int, now: datetime) -> ComputeRequest:
    """The order was not placed; it waits again."""
    return _mark(actor, request_id, "unbuy", "unbought", now)


def mark_active(*, actor: Actor, request_id: int, now: datetime) -> ComputeRequest:
    """Its rental began."""
    return _mark(actor, request_id, "activate", "active", now)


def mark_extended(
    *, actor: Actor, request_id: int, ends_at: datetime, now: datetime
) -> ComputeRequest:
    """Its rental was prolonged."""
    return _mark(actor, request_id, "extend", "extended", now, ends_at=ends_at)


def mark_completed(*, actor: Actor, request_id: int, now: datetime) -> ComputeRequest:
    """Its last rental ended; what is left of the hold goes back."""
    return _mark(actor, request_id, "complete", "completed", now)


def return_to_approver(
    *, actor: Actor, request_id: int, amount: Decimal, reason: str, now: datetime
) -> ComputeRequest:
    """The price really obtained deviates too much: decided anew at that amount."""
    with transaction.atomic():
        person = acting(actor)
        seen = queries.request_for(person, request_id)
        require(person, "requests.mark", seen)
        if amount < 0:
            raise Invalid(Reason("amount", N_("An amount such as 50000.00 is needed.")), "amount")
        request = _move(person, seen, "return", "returned", reason, now, amount=amount)
        request.round += 1
        request.submitted_at = now
        chains.build(request, now)
        request.save()
        return request


def write_message(*, actor: Actor, request_id: int, text: str, now: datetime) -> Message:
    """A word to the other side, kept with the request."""
    with transaction.atomic():
        person = acting(actor)
        request = queries.request_to_sign(person, request_id, queries.local_day(now))
        require(person, "requests.write", request)
        if not text.strip():
            raise Invalid(Reason("text", N_("A message needs words.")), "text")
        message = Message.objects.create(
            request=request, author_id=person_id(person), at=now, text=text.strip()
        )
        audit.record(
            actor=person, act="requests.message", thing=request, after={"message": message.pk}
        )
        announce(
            request,
            "message",
            str(message.pk),
            by=person.display,
            author=person_id(person),
            message=message.pk,
        )
        return message


def record_trial(
    *,
    actor: Actor,
    request_id: int,
    measured_at: datetime,
    figures: Mapping[str, float],
    passed: bool,
    note: str = "",
    now: datetime,
) -> Trial:
    """A short run with its measurements; one that passed closes the checklist's last item."""
    with transaction.atomic():
        person = acting(actor)
        request = queries.request_for(person, request_id)
        require(person, "requests.write", request)
        if not figures:
            raise Invalid(
                Reason("figures", N_("A trial needs at least one measurement.")), "figures"
            )
        if measured_at > now:
            raise Invalid(Reason("future", N_("A trial lies in the past.")), "measured_at")
        trial = Trial.objects.create(
            request=request,
            author_id=person_id(person),
            measured_at=measured_at,
            recorded_at=now,
            figures=dict(figures),
            passed=passed,
            note=note.strip(),
        )
        audit.record(
            actor=person,
            act="requests.trial",
            thing=request,
            after={"trial": trial.pk, "passed": passed, "figures": dict(figures)},
        )
        return trial


def _mark(
    actor: Actor, request_id: int, act: str, what: str, now: datetime, **changes: Any
) -> ComputeRequest:
    with transaction.atomic():
        person = acting(actor)
        if actor is SYSTEM:
            seen = queries.by_id(request_id)
        else:
            seen = queries.request_for(person, request_id)
        require(person, "requests.mark", seen)
        return _move(person, seen, act, what, "", now, **changes)


def _move(
    actor: Actor,
    seen: ComputeRequest,
    act: str,
    what: str,
    reason: str,
    now: datetime,
    **changes: Any,
) -> ComputeRequest:
    """One transition under the lock. The budget's rows are locked before the request's."""
    target = REQUEST.next(seen.state, act)
    if seen.state in HOLDING and target in RELEASING and seen.hold_key:
        budgets.release_hold(actor=actor, key=seen.hold_key, now=now)
    request = lock_one(ComputeRequest.objects.select_related("project__team"), seen.pk)
    if request.state != seen.state:
        REQUEST.next(request.state, act)
        raise Busy()
    before = {"state": request.state}
    request.state, request.state_since = target, now
    if target in RELEASING:
        request.waits_for, request.due_at, request.expires_at = "", None, None
    for name, value in changes.items():
        setattr(request, name, value)
    request.save()
    audit.record(
        actor=actor,
        act=f"requests.{act}",
        thing=request,
        before=before,
        after={"state": target, **{k: str(v) for k, v in changes.items()}},
        reason=reason,
    )
    announce(request, what, now.isoformat(), by=actor.display)
    return request
