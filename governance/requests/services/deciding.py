"""The approver's acts: sign, ask back, refuse. The last signature holds the budget with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from governance.accounts.services import acting
from governance.budgets import services as budgets
from governance.kernel.errors import Busy, Denied, Invalid, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.plumbing.locks import lock_one
from governance.requests import queries
from governance.requests.domain.lifecycle import REQUEST
from governance.requests.models import ApprovalStep, ComputeRequest, Message, Signature
from governance.requests.policies import Turn, person_id, stands_in_for
from governance.requests.services import chains, matching, own_cards
from governance.requests.services.drafting import announce, ask_of

_DECIDED = ("match", "package", "amount", "currency", "ends_at", "conditions")


@dataclass(frozen=True, slots=True)
class _Part:
    """The request, its open step and the actor's part in it, read before the locks."""

    person: Actor
    request: ComputeRequest
    step: ApprovalStep
    turn: Turn
    signed: int
    """Signatures the step has so far."""
    last: bool
    """The next signature is the last of the chain."""

    @property
    def on_behalf_of(self) -> int | None:
        own = self.turn.ability in self.person.abilities()
        return None if own else stands_in_for(self.turn)


def approve(
    *,
    actor: Actor,
    request_id: int,
    text: str = "",
    conditions: Mapping[str, Any] | None = None,
    now: datetime,
) -> ComputeRequest:
    """Sign the open step. The last signature approves and places the budget's hold with it.

    `conditions` (package, max_cards, needed_by) are kept as given; the request is matched anew
    under them. Refused (409) in another state, for a period that has passed, or when the budget
    does not allow it: then nothing is changed.
    """
    with _denials_recorded(actor, "requests.approve", request_id), transaction.atomic():
        part = _part(actor, request_id, "sign", now)
        request = part.request
        _not_past(request, now)
        if conditions:
            _apply_conditions(request, conditions, now)
        key = f"request:{request.pk}:{request.round}"
        if part.last:
            _hold(part, key, now)
        locked = _locked(part)
        for name in _DECIDED:
            setattr(locked, name, getattr(request, name))
        _sign(part, "signed", text, now)
        before = {"state": locked.state, "step": part.step.position}
        if part.last:
            locked.state = REQUEST.next(locked.state, "approve")
            locked.state_since = locked.decided_at = now
            locked.waits_for, locked.due_at, locked.expires_at = "", None, None
            locked.hold_key = key
            if own_cards.is_own(locked):
                own_cards.book(locked, now)
                locked.state = REQUEST.next(locked.state, "activate")
        else:
            _next_step(locked, part.step, now)
        locked.save()
        audit.record(
            actor=part.person,
            act="requests.approve" if part.last else "requests.sign",
            thing=locked,
            before=before,
            after={
                "state": locked.state,
                "amount": f"{locked.amount:.2f}",
                "currency": locked.currency,
                "on_behalf_of": part.on_behalf_of,
                "conditions": locked.conditions,
                "step": chains.step_facts(part.step),
            },
            reason=text,
        )
        _tell(locked, part, "approved" if part.last else "signed")
        return locked


def ask_back(*, actor: Actor, request_id: int, text: str, now: datetime) -> ComputeRequest:
    """Back to the requester with a question; the chain starts anew when it is submitted again."""
    return _answer(actor, request_id, "ask_back", "asked_back", text, now)


def refuse(*, actor: Actor, request_id: int, text: str, now: datetime) -> ComputeRequest:
    """The end of the request, with the reason."""
    return _answer(actor, request_id, "refuse", "refused", text, now)


def _answer(
    actor: Actor, request_id: int, act: str, answer: str, text: str, now: datetime
) -> ComputeRequest:
    with _denials_recorded(actor, f"requests.{act}", request_id), transaction.atomic():
        part = _part(actor, request_id, act, now)
        if not text.strip():
            raise Invalid(
                Reason("reason_needed", N_("Say why, so that the requester can act.")), "text"
            )
        request = _locked(part)
        before = {"state": request.state}
        request.state = REQUEST.next(request.state, act)
        request.state_since = now
        request.waits_for, request.due_at = "", None
        if answer == "refused":
            request.decided_at, request.expires_at = now, None
        request.save()
        _sign(part, answer, text, now)
        Message.objects.create(
            request=request, author_id=person_id(part.person), at=now, text=text.strip()
        )
        audit.record(
            actor=part.person,
            act=f"requests.{act}",
            thing=request,
            before=before,
            after={"state": request.state, "on_behalf_of": part.on_behalf_of},
            reason=text,
        )
        _tell(request, part, answer)
        return request


def _part(actor: Actor, request_id: int, act: str, now: datetime) -> _Part:
    """Permission first, then state: who may not decide does not learn why it cannot be done."""
    person = acting(actor)
    day = queries.local_day(now)
    request = queries.request_to_sign(person, request_id, day)
    step = queries.open_step(request)
    turn = queries.turn_of(request, step, person, day)
    require(person, "requests.approve", turn)
    REQUEST.next(request.state, act)
    assert step is not None
    signed = step.signatures.count()
    others = request.steps.filter(round=request.round, done_at=None).exclude(pk=step.pk)
    last = signed + 1 >= step.count and not others.exists()
    return _Part(person, request, step, turn, signed, last)


def _hold(part: _Part, key: str, now: datetime) -> None:
    amount, period = matching.holding(part.request, now)
    part.request.ends_at = period.end
    if not amount.amount:
        return
    budgets.place_hold(
        actor=part.person,
        project_id=part.request.project_id,
        amount=amount,
        period=period,
        key=key,
        now=now,
    )


def _locked(part: _Part) -> ComputeRequest:
    """The request under its lock; Refused when its state moved on, Busy when its content did."""
    seen = part.request
    request = lock_one(ComputeRequest.objects.select_related("project__team"), seen.pk)
    REQUEST.next(request.state, "sign")
    step = queries.open_step(request)
    if request.round != seen.round or step is None or step.pk != part.step.pk:
        raise Busy()
    if step.signatures.count() != part.signed:
        raise Busy()
    return request


def _sign(part: _Part, answer: str, text: str, now: datetime) -> None:
    Signature.objects.create(
        step=part.step,
        person_id=person_id(part.person),
        on_behalf_of_id=part.on_behalf_of,
        answer=answer,
        at=now,
        text=text.strip(),
    )
    if answer != "signed" or part.signed + 1 >= part.step.count:
        part.step.done_at = now
        part.step.save(update_fields=["done_at"])


def _next_step(request: ComputeRequest, done: ApprovalStep, now: datetime) -> None:
    """Open the following station, unless the present one needs more signatures."""
    step = queries.open_step(request)
    assert step is not None
    if step.pk != done.pk:
        _, policy = chains.current_policy(now)
        step.opened_at, step.due_at = now, chains.due_after(now, policy.answer_hours)
        step.save(update_fields=["opened_at", "due_at"])
        request.waits_for, request.due_at = step.ability, step.due_at


def _not_past(request: ComputeRequest, now: datetime) -> None:
    last = request.needed_by or request.ends_at
    if last is not None and last <= now:
        raise Refused(
            Reason("past_period", N_("The period asked for has already passed; ask back instead."))
        )


def _apply_conditions(
    request: ComputeRequest, conditions: Mapping[str, Any], now: datetime
) -> None:
    """Match under the approver's terms. A dearer package is a new question, not a condition."""
    before = request.amount
    asked = ask_of(request)
    if conditions.get("max_cards"):
        asked = replace(asked, spec=replace(asked.spec, max_cards=int(conditions["max_cards"])))
    if conditions.get("needed_by"):
        asked = asked.until(conditions["needed_by"])
    result = matching.find_packages(asked, now)
    package = matching.pick(result, conditions.get("package") or None)
    matching.take(request, matching.keep(request, result, now), package)
    assert before is not None
    assert request.amount is not None
    if request.amount > before:
        raise Refused(
            Reason(
                "conditions_dearer",
                N_("Under these conditions it costs more (%(amount)s); ask back instead."),
                {"amount": f"{request.amount:.2f} {request.currency}"},
            )
        )
    request.conditions = {k: str(v) for k, v in conditions.items() if v not in (None, "")}


def _tell(request: ComputeRequest, part: _Part, what: str) -> None:
    once = f"{part.step.position}.{person_id(part.person)}" if what == "signed" else ""
    announce(request, what, once, by=part.person.display)


@contextmanager
def _denials_recorded(actor: Actor, act: str, request_id: int) -> Iterator[None]:
    """A refused attempt leaves a trace even though its transaction is undone."""
    try:
        yield
    except Denied as error:
        with transaction.atomic():
            audit.record(
                actor=actor,
                act=f"{act}.denied",
                thing=("requests.computerequest", request_id),
                reason=str(error.reason),
            )
        raise
