"""The requester's acts: draft, edit, choose a package, submit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from governance.accounts import queries as accounts
from governance.accounts.services import acting
from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.matching.codec import from_json, to_json
from governance.matching.shapes import MatchResult, RequestSpec
from governance.plumbing import audit, outbox
from governance.plumbing.locks import lock_one
from governance.requests import queries
from governance.requests.domain import checklist
from governance.requests.domain.known import known_items, title_of
from governance.requests.domain.lifecycle import EDITABLE, REQUEST
from governance.requests.models import ComputeRequest
from governance.requests.policies import person_id
from governance.requests.services import chains, matching
from governance.requests.services.matching import Ask

WORTH = ("deadline", "soon", "no_hurry")


def create_draft(
    *,
    actor: Actor,
    project_id: int,
    ask: Ask,
    reason: str = "",
    worth: str = "deadline",
    answers: Mapping[str, str] | None = None,
    now: datetime,
) -> ComputeRequest:
    """A draft that only its requester sees, with the best package of today chosen."""
    with transaction.atomic():
        person = acting(actor)
        project = accounts.project(project_id)
        require(person, "requests.create", project)
        request = ComputeRequest(
            project=project, requester_id=person_id(person), created_at=now, state_since=now
        )
        write(request, ask, reason, worth, answers)
        request.save()
        choose(request, matching.find_packages(ask, now), None, now, must=False)
        audit.record(actor=person, act="requests.create", thing=request, after=brief(request))
        return request


def edit_draft(
    *,
    actor: Actor,
    request_id: int,
    ask: Ask,
    reason: str = "",
    worth: str = "deadline",
    answers: Mapping[str, str] | None = None,
    now: datetime,
) -> ComputeRequest:
    """Change a draft or a request that was asked back; matched anew."""
    with transaction.atomic():
        person, request = _own_locked(actor, request_id)
        _editable(request)
        before = brief(request)
        write(request, ask, reason, worth, answers)
        choose(request, matching.find_packages(ask, now), None, now, must=False)
        audit.record(
            actor=person, act="requests.edit", thing=request, before=before, after=brief(request)
        )
        return request


def choose_package(*, actor: Actor, request_id: int, key: str, now: datetime) -> ComputeRequest:
    """Take another of the packages, at the prices of now."""
    with transaction.atomic():
        person, request = _own_locked(actor, request_id)
        _editable(request)
        before = brief(request)
        choose(request, matching.find_packages(ask_of(request), now), key, now)
        audit.record(
            actor=person, act="requests.choose", thing=request, before=before, after=brief(request)
        )
        return request


def submit(
    *, actor: Actor, request_id: int, key: str | None = None, now: datetime
) -> ComputeRequest:
    """Ask for a decision: checklist complete, matched now, chain built by the policy of now."""
    with transaction.atomic():
        person, request = _own_locked(actor, request_id)
        state = REQUEST.next(request.state, "submit")
        if request.needed_by is not None and request.needed_by <= now:
            raise Invalid(
                Reason("past", N_("The time by which it is needed has passed.")), "needed_by"
            )
        before = {"state": request.state}
        kept = key or (request.package or {}).get("key")
        choose(request, matching.find_packages(ask_of(request), now), kept, now)
        _complete(request)
        request.round += 1
        request.state, request.state_since, request.submitted_at = state, now, now
        request.conditions = request.decided_at = None
        policy = chains.build(request, now)
        request.save()
        audit.record(
            actor=person,
            act="requests.submit",
            thing=request,
            before=before,
            after={**brief(request), "policy": policy.version, "waits_for": request.waits_for},
        )
        announce(request, "submitted")
        return request


def ask_of(request: ComputeRequest) -> Ask:
    """The stored wish, as it was checked."""
    return Ask(
        from_json(RequestSpec, request.spec),
        request.business_type,
        request.starts_at,
        request.needed_by,
    )


def checklist_of(request: ComputeRequest) -> tuple[checklist.Line, ...]:
    """The checklist with what is known; a trial that passed closes the last item."""
    spec = from_json(RequestSpec, request.spec)
    known = known_items(spec, request.needed_by, request.package)
    passed = request.trials.filter(passed=True).last()
    if passed is not None:
        known["trial"] = passed.note or passed.measured_at.date().isoformat()
    answers = {k: v for k, v in request.answers.items() if k != "trial"}
    return checklist.lines(request.business_type, known, answers)


def announce(request: ComputeRequest, what: str, once: str = "", **more: Any) -> None:
    """Tell the other rooms, once per round and happening (and `once`, where it may repeat)."""
    outbox.emit(
        kind=f"request.{what}",
        payload={"request": request.pk, "round": request.round, **more},
        key=":".join(filter(None, ("request", str(request.pk), str(request.round), what, once))),
    )


def write(
    request: ComputeRequest,
    ask: Ask,
    reason: str,
    worth: str,
    answers: Mapping[str, str] | None,
) -> None:
    """Put the wish on the row."""
    if worth not in WORTH:
        raise Invalid(Reason("worth", N_("Worth is deadline, soon or no_hurry.")), "worth")
    items = {item.key for item in checklist.ITEMS[ask.business_type]}
    stray = sorted(set(answers or {}) - items)
    if stray:
        raise Invalid(
            Reason("answer", N_("The checklist has no item “%(item)s”."), {"item": stray[0]}),
            "answers",
        )
    request.business_type, request.spec = ask.business_type, to_json(ask.spec)
    request.starts_at, request.needed_by = ask.starts_at, ask.needed_by
    request.reason, request.worth = reason.strip(), worth
    said = {key: str(value).strip()[:500] for key, value in (answers or {}).items()}
    request.answers = {key: value for key, value in said.items() if value}
    request.title = title_of(ask.spec)


def choose(
    request: ComputeRequest, result: MatchResult, key: str | None, now: datetime, must: bool = True
) -> None:
    """Store the match and take a package; a draft may stand without one."""
    row = matching.keep(request, result, now)
    if result.packages or must:
        matching.take(request, row, matching.pick(result, key))
    else:
        request.match, request.package, request.amount = row, None, None
    request.save()


def brief(request: ComputeRequest) -> dict[str, Any]:
    """What the audit trail keeps of a request."""
    package: Mapping[str, Any] = request.package or {}
    return {
        "state": request.state,
        "title": request.title,
        "package": package.get("key"),
        "term": package.get("best_term"),
        "amount": None if request.amount is None else f"{Decimal(request.amount):.2f}",
        "currency": request.currency,
        "starts_at": request.starts_at,
        "needed_by": request.needed_by,
        "match": request.match_id,
    }


def _own_locked(actor: Actor, request_id: int) -> tuple[Actor, ComputeRequest]:
    person = acting(actor)
    seen = queries.request_for(person, request_id)
    require(person, "requests.own", seen)
    rows = ComputeRequest.objects.select_related("project__team")
    return person, lock_one(rows, seen.pk)


def _editable(request: ComputeRequest) -> None:
    if request.state not in EDITABLE:
        raise Refused(
            Reason("not_editable", N_("Only a draft or a request asked back can be changed."))
        )


def _complete(request: ComputeRequest) -> None:
    missing = [line.item for line in checklist_of(request) if line.blocks]
    if missing:
        raise Invalid(
            Reason(
                "checklist",
                N_("The checklist lacks “%(item)s”; nothing was submitted."),
                {"item": missing[0].label},
            ),
            f"answers.{missing[0].key}",
        )
