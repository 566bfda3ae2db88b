"""Requests that come from requests: the same again, a change of a running one, a renewal."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from governance.accounts.services import acting
from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.requests import queries
from governance.requests.models import CHANGES, ComputeRequest
from governance.requests.policies import person_id
from governance.requests.services import matching
from governance.requests.services.drafting import ask_of, brief, choose, create_draft, write
from governance.requests.services.matching import Ask


def clone(*, actor: Actor, request_id: int, now: datetime) -> ComputeRequest:
    """The same wish again as a draft of the actor's own, from now on."""
    source = queries.request_for(actor, request_id)
    asked = replace(ask_of(source), starts_at=now)
    if source.needed_by is not None:
        asked = asked.until(now + (source.needed_by - source.starts_at))
    return create_draft(
        actor=actor,
        project_id=source.project_id,
        ask=asked,
        reason=source.reason,
        worth=source.worth,
        answers=source.answers,
        now=now,
    )


def request_change(
    *,
    actor: Actor,
    request_id: int,
    change: str,
    until: datetime | None = None,
    max_cards: int | None = None,
    cards: tuple[str, ...] = (),
    reason: str = "",
    now: datetime,
) -> ComputeRequest:
    """A draft that changes a running request (extend, more, fewer, other, end) or renews it.

    It goes through matching and approval like any other; the rental follows once approved.
    """
    if change not in CHANGES and change != "renew":
        choices = ", ".join((*CHANGES, "renew"))
        raise Invalid(
            Reason("change", N_("A change is one of: %(choices)s."), {"choices": choices}), "change"
        )
    with transaction.atomic():
        person = acting(actor)
        parent = queries.request_for(person, request_id)
        require(person, "requests.own", parent)
        if parent.state not in {"active", "extended"} and (
            change != "renew" or parent.state != "completed"
        ):
            raise Refused(Reason("not_running", N_("Only a running request can be changed.")))
        asked = _changed(parent, change, until, max_cards, cards, now)
        request = ComputeRequest(
            project=parent.project,
            requester_id=person_id(person),
            created_at=now,
            state_since=now,
            parent=parent,
            kind="renewal" if change == "renew" else "change",
            change="" if change == "renew" else change,
        )
        write(request, asked, reason or parent.reason, parent.worth, parent.answers)
        request.save()
        choose(request, matching.find_packages(asked, now), None, now, must=False)
        audit.record(
            actor=person, act="requests.change", thing=request, after=brief(request), reason=reason
        )
        return request


def _changed(
    parent: ComputeRequest,
    change: str,
    until: datetime | None,
    max_cards: int | None,
    cards: tuple[str, ...],
    now: datetime,
) -> Ask:
    asked = ask_of(parent)
    if change in {"extend", "renew"}:
        return _longer(asked, parent, until, now)
    asked = replace(asked, starts_at=now)
    if change in {"more", "fewer"}:
        if max_cards is None:
            raise Invalid(Reason("max_cards", N_("Say how many cards.")), "max_cards")
        return replace(asked, spec=replace(asked.spec, max_cards=max_cards))
    if change == "other":
        if not cards:
            raise Invalid(Reason("cards", N_("Say which card.")), "cards")
        return replace(asked, spec=replace(asked.spec, cards_preferred=cards))
    if until is None or until <= now:
        raise Invalid(Reason("until", N_("Say when it ends, after now.")), "until")
    return asked.until(until)


def _longer(asked: Ask, parent: ComputeRequest, until: datetime | None, now: datetime) -> Ask:
    ends = parent.ends_at or now
    start = max(ends, now)
    if until is not None and until <= start:
        raise Invalid(Reason("until", N_("The new end must lie after the present one.")), "until")
    return replace(asked, starts_at=start).until(until or start + (ends - parent.starts_at))
