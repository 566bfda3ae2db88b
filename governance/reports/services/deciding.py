"""Answers of the rental's team and decisions of managers on recommendations."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from governance.kernel.errors import Invalid, Missing, Refused
from governance.kernel.policy import SYSTEM, Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks, outbox
from governance.rentals import queries as rentals
from governance.reports.domain.judgement import Settings, Standing, capped_saving, decided, snoozed
from governance.reports.models import Flag, Recommendation
from governance.reports.viewers import EVERYTHING
from governance.requests import queries as requests
from governance.requests import services as request_services

LONGEST_SNOOZE = timedelta(days=180)


def _locked(actor: Actor, recommendation_id: int) -> Recommendation:
    """The row, locked, of what the actor may see."""
    seen = Recommendation.objects.visible_to(actor).filter(pk=recommendation_id)
    if not seen.exists():
        raise Missing()
    one = locks.lock_one(
        Recommendation.objects.select_related("rental__project"), recommendation_id
    )
    assert isinstance(one, Recommendation)
    return one


def _open(one: Recommendation) -> None:
    if one.state not in Recommendation.OPEN:
        text = N_("This recommendation was decided already.")
        raise Refused(Reason("recommendation_over", text))


def _words(text: str, field: str) -> str:
    words = text.strip()
    if not words:
        raise Invalid(Reason("reason_needed", N_("Please say why.")), field)
    return words


def answer(
    *, actor: Actor, recommendation_id: int, choice: str, text: str, now: datetime
) -> Recommendation:
    """The team's word before a decision: it has to stay, will be fixed, or is agreed to. It can
    be changed until the decision."""
    with transaction.atomic():
        one = _locked(actor, recommendation_id)
        require(actor, "recommendations.answer", one)
        _open(one)
        if choice not in Recommendation.ANSWERS:
            raise Invalid(Reason("answer", N_("Choose one of the answers.")), "answer")
        before = {"answer": one.answer, "text": one.answer_text}
        one.answer, one.answer_text = choice, _words(text, "text")
        one.answered_by_id = getattr(actor, "pk", None)
        one.answered_at = now
        if one.state == "asked":
            one.state = "answered"
        one.save(update_fields=["answer", "answer_text", "answered_by", "answered_at", "state"])
        audit.record(
            actor=actor,
            act="recommendations.answer",
            thing=one,
            before=before,
            after={"answer": one.answer, "text": one.answer_text},
            project_id=one.rental.project_id,
        )
        return one


def accept(*, actor: Actor, recommendation_id: int, now: datetime) -> Recommendation:
    """Follow it: a draft of the change is opened for the rental's requester, to be submitted and
    approved like any other. A rental without a request is changed by those who manage it."""
    with transaction.atomic():
        one = _locked(actor, recommendation_id)
        require(actor, "recommendations.decide", one)
        _open(one)
        one.request_id = _change(one, actor, now)
        _decide(one, actor, "accepted", now)
        outbox.emit(
            kind="reports.recommendation_accepted",
            payload={
                "recommendation_id": one.pk,
                "rental_id": one.rental_id,
                "project_id": one.rental.project_id,
                "request_id": one.request_id,
            },
            key=f"recommendation:{one.pk}:accepted",
        )
        return one


def dismiss(*, actor: Actor, recommendation_id: int, reason: str, now: datetime) -> Recommendation:
    """Do not follow it, and say why; nothing of the kind opens during the cool-down."""
    with transaction.atomic():
        one = _locked(actor, recommendation_id)
        require(actor, "recommendations.decide", one)
        _open(one)
        one.reason = _words(reason, "reason")
        _decide(one, actor, "dismissed", now)
        return one


def snooze(*, actor: Actor, recommendation_id: int, until: date, now: datetime) -> Recommendation:
    """Put it off until a day; it returns then if it still holds."""
    with transaction.atomic():
        one = _locked(actor, recommendation_id)
        require(actor, "recommendations.decide", one)
        _open(one)
        today = now.date()
        if not today < until <= today + LONGEST_SNOOZE:
            text = N_("Choose a day after today, at most half a year ahead.")
            raise Invalid(Reason("until", text), "until")
        one.state, one.until = "snoozed", until
        one.save(update_fields=["state", "until"])
        _flag(one, now, until)
        audit.record(
            actor=actor,
            act="recommendations.snooze",
            thing=one,
            after={"until": until.isoformat()},
            project_id=one.rental.project_id,
        )
        return one


def _decide(one: Recommendation, actor: Actor, state: str, now: datetime) -> None:
    one.state, one.decided_at = state, now
    one.decided_by_id = getattr(actor, "pk", None)
    one.save(update_fields=["state", "decided_at", "decided_by", "reason", "request_id"])
    _flag(one, now, None)
    audit.record(
        actor=actor,
        act=f"recommendations.{ {'accepted': 'accept', 'dismissed': 'dismiss'}[state] }",
        thing=one,
        after={"state": state, "request": one.request_id},
        reason=one.reason,
        project_id=one.rental.project_id,
    )


def _flag(one: Recommendation, now: datetime, until: date | None) -> None:
    """The flag rests: until the day, or for the cool-down after a decision."""
    flag = Flag.objects.select_for_update(no_key=True).get(rental=one.rental_id, kind=one.kind)
    standing = Standing(flag.state, flag.streak, flag.since, flag.until)  # type: ignore[arg-type]
    after = decided(now.date(), Settings()) if until is None else snoozed(standing, until)
    flag.state, flag.streak = after.state, after.streak
    flag.since, flag.until = after.since, after.until
    flag.save(update_fields=["state", "streak", "since", "until"])


def _change(one: Recommendation, actor: Actor, now: datetime) -> int | None:
    """A draft of the change in the name of the running request's requester."""
    if one.rental.request_id is None:
        return None
    request = requests.by_id(one.rental.request_id)
    if request.state not in ("active", "extended"):
        return None
    told: dict[str, Any] = {"change": "end", "until": now + timedelta(days=1)}
    cheaper = one.latest.what_if
    if one.kind == "DOWNGRADE_CANDIDATE" and cheaper:
        told = {"change": "other", "cards": (cheaper["card"],)}
    elif one.kind != "IDLE":
        return None
    draft = request_services.request_change(
        actor=request.requester,
        request_id=request.pk,
        reason=f"{one}, accepted by {actor.display}",
        now=now,
        **told,
    )
    return draft.pk


def measure_realised(*, now: datetime, settings: Settings | None = None) -> int:
    """What accepted recommendations really saved: the 30 days before the decision beside the 30
    days after it, never above what was paid before; returns how many were measured."""
    chosen = settings or Settings()
    measured = 0
    due = Recommendation.objects.filter(
        state="accepted",
        realised=None,
        decided_at__lte=now - timedelta(days=30 + chosen.settle_days),
    )
    for one in due.select_related("rental"):
        assert one.decided_at is not None
        first = one.decided_at.date() + timedelta(days=chosen.settle_days)
        rows = rentals.cost_rows(
            EVERYTHING,
            first=first,
            last=first + timedelta(days=29),
            filters={"rental__project_id": one.rental.project_id, "rental_id": one.rental_id},
        )
        after = sum((row.amortised for row in rows), Decimal(0))
        before = one.cost_before or Decimal(0)
        with transaction.atomic():
            one.realised = capped_saving(before - after, before)
            one.measured_on = now.date()
            one.save(update_fields=["realised", "measured_on"])
            audit.record(
                actor=SYSTEM,
                act="recommendations.measure",
                thing=one,
                after={"realised": one.realised},
                project_id=one.rental.project_id,
            )
        measured += 1
    return measured
