"""Reads of notices, preferences and channels."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django.db.models import QuerySet

from governance.accounts import queries as accounts
from governance.kernel.policy import Actor, require
from governance.notices.domain.messages import KINDS
from governance.notices.models import Channel, Notice, Preference, QuietHours
from governance.plumbing import outbox
from governance.plumbing.models import OutboxEvent


def notices_of(viewer: Actor) -> QuerySet[Notice]:
    """The viewer's notices, newest first."""
    return Notice.objects.visible_to(viewer)


def unread(viewer: Actor) -> int:
    return notices_of(viewer).filter(read_at=None).count()


def mail_choice(person_id: int, kind: str) -> str:
    """now, digest or off."""
    found = Preference.objects.filter(person_id=person_id, kind=kind).values_list("mail", flat=True)
    return found.first() or "now"


def choices_of(person_id: int) -> dict[str, str]:
    """The person's choice for each kind."""
    chosen = dict(Preference.objects.filter(person_id=person_id).values_list("kind", "mail"))
    return {kind: chosen.get(kind, "now") for kind in KINDS}


def quiet_hours(person_id: int) -> tuple[time, time] | None:
    return QuietHours.objects.filter(person_id=person_id).values_list("starts", "ends").first()


def may_hear(person: Any, project_id: int | None) -> bool:
    """Only open accounts, and only of projects that the person may (still) see."""
    if not person.is_active:
        return False
    if project_id is None:
        return True
    return accounts.projects_visible_to(person).filter(pk=project_id).exists()


def digest_waiting(now: datetime) -> dict[int, list[Notice]]:
    """Notices for the daily mail, by person."""
    waiting: dict[int, list[Notice]] = {}
    rows = Notice.objects.filter(mailed_at=None, person__is_active=True, created_at__lte=now)
    wanted = Preference.objects.filter(mail="digest").values_list("person_id", "kind")
    pairs = set(wanted)
    for row in rows.select_related("person").order_by("person_id", "id"):
        if (row.person_id, row.kind) in pairs:
            waiting.setdefault(row.person_id, []).append(row)
    return waiting


def channels(viewer: Actor) -> QuerySet[Channel]:
    require(viewer, "channels.manage")
    return Channel.objects.select_related("team")


def listening(kind: str, team_id: int | None) -> list[Channel]:
    """Open channels that want the kind, of the team or of all."""
    rows = Channel.objects.filter(closed_at=None, kinds__contains=[kind])
    return [c for c in rows if c.team_id is None or c.team_id == team_id]


def dead_letters() -> QuerySet[OutboxEvent]:
    """Messages given up after the last try, newest first."""
    return (
        OutboxEvent.objects.filter(kind__startswith="notice.").exclude(dead_at=None).order_by("-id")
    )


def waiting_letters() -> QuerySet[OutboxEvent]:
    """Messages that failed and will be tried again."""
    rows = OutboxEvent.objects.filter(
        kind__startswith="notice.", delivered_at=None, dead_at=None, attempts__gt=0
    )
    return rows.filter(attempts__lt=outbox.DEAD_AFTER).order_by("due_at")
