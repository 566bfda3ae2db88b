"""Reads of requests; each starts from what the viewer may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q, QuerySet

from governance.accounts import queries as accounts
from governance.accounts.authentication import person_of
from governance.kernel.errors import Missing
from governance.kernel.periods import Period, anchored, calendar_start
from governance.kernel.policy import Actor
from governance.plumbing import audit
from governance.plumbing.models import AuditEvent
from governance.requests.domain.lifecycle import HOLDING
from governance.requests.models import (
    ApprovalPolicy,
    ApprovalStep,
    CalendarDay,
    ComputeRequest,
    Delegation,
    Match,
    Message,
    Signature,
)
from governance.requests.policies import Turn, person_id

BULKY = ("spec", "answers", "conditions", "package", "reason")
"""Columns that lists do not need."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """What the inbox's rule needs to know beyond roles."""

    stands_in: bool


def zone() -> ZoneInfo:
    """The organisation's time zone."""
    return ZoneInfo(accounts.organisation().timezone)


def local_day(now: datetime) -> date:
    return now.astimezone(zone()).date()


def visible(viewer: Actor) -> QuerySet[ComputeRequest]:
    """Requests that the viewer may see, with what every row shows."""
    return ComputeRequest.objects.visible_to(viewer).select_related(
        "project", "project__team", "requester"
    )


def request_for(viewer: Actor, request_id: int) -> ComputeRequest:
    """One request, or Missing (404), also where it exists but must not be seen."""
    found = visible(viewer).filter(pk=request_id).first()
    if found is None:
        raise Missing()
    return found


def by_id(request_id: int) -> ComputeRequest:
    """For the platform's own acts on a request (no viewer); Missing where there is none."""
    found = (
        ComputeRequest.objects.select_related("project", "project__team", "requester")
        .filter(pk=request_id)
        .first()
    )
    if found is None:
        raise Missing()
    return found


def changed_by(request: ComputeRequest) -> ComputeRequest:
    """The request whose rental a change is about; changes of changes lead to the first one."""
    while request.kind == "change" and request.parent_id is not None:
        request = by_id(request.parent_id)
    return request


def running_changes(request_id: int) -> list[int]:
    """Changes made for a request, and for those again, that hold a part of the budget."""
    found: list[int] = []
    layer = [request_id]
    while layer:
        layer = list(
            ComputeRequest.objects.filter(
                parent_id__in=layer, kind="change", state__in=("active", "extended")
            ).values_list("pk", flat=True)
        )
        found += layer
    return sorted(found)


def filtered(viewer: Actor, filters: Mapping[str, Any]) -> QuerySet[ComputeRequest]:
    """The list by state, project, team, requester ("me" or an id), purpose and words."""
    rows = visible(viewer)
    if filters.get("state"):
        rows = rows.filter(state=filters["state"])
    if filters.get("project"):
        named = filters["project"]
        rows = rows.filter(Q(project__slug=named) | Q(project__name__icontains=named))
    if filters.get("team"):
        rows = rows.filter(project__team__slug=filters["team"])
    if filters.get("purpose"):
        rows = rows.filter(business_type=filters["purpose"])
    who = filters.get("requester")
    if who == "me":
        rows = rows.filter(requester_id=person_id(viewer))
    elif who and str(who).isdigit():
        rows = rows.filter(requester_id=int(who))
    words = (filters.get("q") or "").strip()
    if words:
        match = Q(title__icontains=words) | Q(reason__icontains=words)
        if words.lstrip("#").isdigit():
            match |= Q(pk=int(words.lstrip("#")) % 2**63)
        rows = rows.filter(match)
    return rows


def approved_waiting(viewer: Actor) -> QuerySet[ComputeRequest]:
    """Approved requests that wait to be bought, oldest decision first."""
    return visible(viewer).filter(state__in=["approved", "purchasing"]).order_by("decided_at", "pk")


def open_step(request: ComputeRequest) -> ApprovalStep | None:
    """The station whose turn it is."""
    if request.state != "submitted":
        return None
    return request.steps.filter(round=request.round, done_at=None).order_by("position").first()


def given_by(viewer: Actor, day: date) -> dict[int, frozenset[str]]:
    """Who has handed the viewer their signature on the day, with their abilities; read once a
    viewer, as their roles are."""
    kept: dict[date, dict[int, frozenset[str]]] = viewer.__dict__.setdefault("_given_by", {})
    if day in kept:
        return kept[day]
    rows = Delegation.objects.filter(
        taker_id=person_id(viewer),
        revoked_at=None,
        starts_on__lte=day,
        ends_on__gte=day,
        giver__is_active=True,
    ).select_related("giver")
    kept[day] = {row.giver_id: row.giver.abilities() for row in rows}
    return kept[day]


def turn_of(request: ComputeRequest, step: ApprovalStep | None, viewer: Actor, day: date) -> Turn:
    """What the rule of signing needs to know; a request nobody is to sign has no ability."""
    signed = Signature.objects.filter(step__request=request, step__round=request.round)
    people = signed.values_list("person_id", flat=True) if step else ()
    return Turn(
        requester_id=request.requester_id,
        ability=step.ability if step else "requests.approve",
        signed_by=frozenset(people),
        given_by=given_by(viewer, day),
    )


def inbox(viewer: Actor, day: date) -> QuerySet[ComputeRequest]:
    """What waits for this viewer's signature, what is due first first; never their own."""
    me = person_id(viewer)
    own = viewer.abilities()
    handed = given_by(viewer, day)
    mine = Q(waits_for__in=own)
    for giver, abilities in handed.items():
        mine |= Q(waits_for__in=abilities) & ~Q(requester_id=giver)
    signed = Signature.objects.filter(
        step__request=OuterRef("pk"), step__round=OuterRef("round"), person_id=me
    )
    return (
        visible_to_signers(viewer, handed)
        .filter(mine, state="submitted")
        .exclude(requester_id=me)
        .filter(~Exists(signed))
        .order_by("due_at", "pk")
    )


def visible_to_signers(
    viewer: Actor, handed: Mapping[int, frozenset[str]]
) -> QuerySet[ComputeRequest]:
    """A stand-in sees what the person they stand in for may sign."""
    if any("see.all" in abilities for abilities in handed.values()):
        return ComputeRequest.objects.exclude(state="draft").select_related(
            "project", "project__team", "requester"
        )
    return visible(viewer)


def request_to_sign(viewer: Actor, request_id: int, day: date) -> ComputeRequest:
    """One request for somebody who may sign it, or Missing (404)."""
    found = visible_to_signers(viewer, given_by(viewer, day)).filter(pk=request_id).first()
    if found is None:
        raise Missing()
    return found


def inbox_count(viewer: Actor, day: date) -> int:
    """How many requests wait for the viewer."""
    return inbox(viewer, day).count()


def deciders(request: ComputeRequest, day: date) -> list[str]:
    """Names of those who can give the open signature (never the requester)."""
    if not request.waits_for:
        return []
    people = accounts.holders(request.waits_for, day).exclude(pk=request.requester_id)
    return [person.display for person in people]


def policy_at(moment: datetime) -> ApprovalPolicy | None:
    """The version in force."""
    return (
        ApprovalPolicy.objects.filter(valid_from__lte=moment)
        .order_by("-valid_from", "-version")
        .first()
    )


def policies() -> QuerySet[ApprovalPolicy]:
    """All versions, newest first."""
    return ApprovalPolicy.objects.all()


def exceptions() -> dict[date, bool]:
    """Days on which the working calendar differs from Monday to Friday."""
    return dict(CalendarDay.objects.values_list("day", "works"))


def calendar_days() -> QuerySet[CalendarDay]:
    return CalendarDay.objects.all()


def delegations_of(viewer: Actor) -> QuerySet[Delegation]:
    """What the viewer gave and was given, newest first."""
    me = person_of(viewer).pk
    return Delegation.objects.filter(Q(giver_id=me) | Q(taker_id=me)).select_related(
        "giver", "taker"
    )


def stands_in(viewer: Actor, day: date) -> bool:
    """Does somebody's signature lie with the viewer on the day?"""
    return bool(given_by(viewer, day))


def steps_of(request: ComputeRequest) -> list[ApprovalStep]:
    """All stations of all rounds with their signatures."""
    rows = request.steps.prefetch_related("signatures__person", "signatures__on_behalf_of")
    return list(rows.order_by("round", "position"))


def messages_of(request: ComputeRequest) -> list[Message]:
    return list(request.messages.select_related("author"))


def matches_of(request: ComputeRequest) -> QuerySet[Match]:
    """Stored matches, newest first, without their bulky results."""
    return request.matches.defer("result", "spec")


def followers_of(request: ComputeRequest) -> QuerySet[ComputeRequest]:
    """Changes and renewals of the request that are no drafts."""
    return request.followers.exclude(state="draft")


def trail_of(request: ComputeRequest, most: int = 200) -> list[AuditEvent]:
    """What happened to the request, newest first."""
    events = audit.trail(thing_type="requests.computerequest", thing_id=str(request.pk))
    return list(events[:most])


@dataclass(frozen=True, slots=True)
class MonthOfCards:
    """Cards of one model that approved requests hold in a local month."""

    month: datetime
    card: str
    card_hours: float
    most: int
    """Cards at a time, were all of the month's requests to overlap."""
    requests: int


def capacity(viewer: Actor, now: datetime, months: int = 6) -> list[MonthOfCards]:
    """What approved, bought and running requests hold, by month and card model."""
    tz = zone()
    first = calendar_start(now, "month", tz)
    spans = [
        Period(anchored(first, "month", i, tz), anchored(first, "month", i + 1, tz))
        for i in range(months)
    ]
    rows = visible(viewer).filter(
        state__in=HOLDING, ends_at__gt=max(now, first), starts_at__lt=spans[-1].end
    )
    sums: dict[tuple[datetime, str], list[tuple[int, float]]] = {}
    for row in rows.defer("spec", "reason", "answers"):
        held = Period(row.starts_at, row.ends_at) if row.ends_at else None
        for span in spans:
            part = held.overlap(span) if held else None
            if part is not None and row.package:
                count = int(row.package["count"])
                key = (span.start, str(row.package["card_name"]))
                sums.setdefault(key, []).append((count, float(part.hours) * count))
    return [
        MonthOfCards(month, card, sum(h for _, h in held), sum(c for c, _ in held), len(held))
        for (month, card), held in sorted(sums.items())
    ]


def overdue(now: datetime) -> QuerySet[ComputeRequest]:
    """Unanswered too long, or approved for a time that has passed without being bought."""
    unanswered = Q(state__in=["submitted", "changes_asked"], expires_at__lte=now)
    return ComputeRequest.objects.filter(
        unanswered | Q(state="approved", ends_at__lte=now)
    ).order_by("pk")


def stand_ins(givers: Iterable[int], day: date) -> list[int]:
    """Who signs for these people on the day."""
    rows = Delegation.objects.filter(
        giver_id__in=list(givers), revoked_at=None, starts_on__lte=day, ends_on__gte=day
    )
    return list(rows.values_list("taker_id", flat=True))


def writers(request: ComputeRequest) -> set[int]:
    """Who has written about the request."""
    return set(request.messages.values_list("author_id", flat=True))
