"""What time does to requests: reminders, going up a level, expiry. Each step is safe to repeat."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction

from governance.kernel.errors import DomainError, Refused
from governance.kernel.policy import SYSTEM
from governance.plumbing import audit
from governance.plumbing.locks import lock_one
from governance.requests import queries
from governance.requests.models import ApprovalStep, ComputeRequest
from governance.requests.services import chains, own_cards
from governance.requests.services.drafting import announce
from governance.requests.services.following import expire, mark_completed


def watch(*, now: datetime) -> dict[str, int]:
    """Remind, raise and expire what is due; one request after the other, each by itself."""
    waiting = list(
        ComputeRequest.objects.filter(state="submitted", due_at__lte=now)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    over = list(queries.overdue(now).values_list("pk", flat=True))
    return {
        "reminded": _each(waiting, lambda pk: remind(request_id=pk, now=now)),
        "raised": _each(waiting, lambda pk: raise_level(request_id=pk, now=now)),
        "expired": _each(over, lambda pk: bool(expire(request_id=pk, now=now))),
        "completed": _each(
            list(own_cards.ended(now)),
            lambda pk: bool(mark_completed(actor=SYSTEM, request_id=pk, now=now)),
        ),
    }


def remind(*, request_id: int, now: datetime) -> bool:
    """Once per step: the answer is due."""
    with transaction.atomic():
        request, step = _open(request_id)
        if step is None or step.reminded_at is not None or step.due_at is None:
            return False
        if step.due_at > now:
            return False
        step.reminded_at = now
        step.save(update_fields=["reminded_at"])
        audit.record(
            actor=SYSTEM, act="requests.remind", thing=request, after=chains.step_facts(step)
        )
        announce(request, "overdue", f"{step.position}.{step.ability}", ability=step.ability)
        return True


def raise_level(*, request_id: int, now: datetime) -> bool:
    """After the policy's hours without an answer the step goes to the next rung of the ladder."""
    with transaction.atomic():
        request, step = _open(request_id)
        if step is None or step.opened_at is None:
            return False
        _, policy = chains.current_policy(now)
        if chains.due_after(step.opened_at, policy.escalate_hours) > now:
            return False
        above = list(policy.ladder[policy.ladder.index(step.ability) + 1 :])
        if not above:
            return False
        try:
            rung = chains.rung_for(policy, above[0], step.count, request.requester_id, now)
        except Refused:
            return False
        before = chains.step_facts(step)
        step.raised_from, step.ability = step.ability, rung
        step.opened_at, step.reminded_at = now, None
        step.due_at = chains.due_after(now, policy.answer_hours)
        step.save()
        request.waits_for, request.due_at = rung, step.due_at
        request.save(update_fields=["waits_for", "due_at"])
        audit.record(
            actor=SYSTEM,
            act="requests.raise",
            thing=request,
            before=before,
            after=chains.step_facts(step),
        )
        announce(request, "raised", f"{step.position}.{rung}", ability=rung)
        return True


def _open(request_id: int) -> tuple[ComputeRequest, ApprovalStep | None]:
    request = lock_one(ComputeRequest.objects.select_related("project__team"), request_id)
    return request, queries.open_step(request)


def _each(ids: list[int], act: Callable[[int], bool]) -> int:
    done = 0
    for pk in ids:
        try:
            done += act(pk)
        except DomainError:
            continue
    return done
