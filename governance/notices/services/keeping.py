"""Preferences, reading, channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, time
from urllib.parse import urlsplit

from django.db import transaction

from governance.accounts.authentication import person_of
from governance.accounts.services import acting
from governance.kernel.errors import Invalid, Missing
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.notices import queries
from governance.notices.domain.messages import CHANNELS, KINDS, masked
from governance.notices.models import MAIL, Channel, Notice, Preference, QuietHours
from governance.plumbing import audit, outbox
from governance.plumbing.locks import lock_one


def mark_read(*, actor: Actor, notice_ids: Sequence[int] | None, now: datetime) -> int:
    """Mark own notices as read (all with None). Reading is no act, so it leaves no trace."""
    rows = Notice.objects.visible_to(actor).filter(read_at=None)
    if notice_ids is not None:
        rows = rows.filter(pk__in=notice_ids)
    return rows.update(read_at=now)


def set_preferences(
    *, actor: Actor, mail: Mapping[str, str], quiet: tuple[time, time] | None
) -> None:
    """How the actor wants to hear: now, digest or off for each kind; quiet hours or none."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "profile.own")
        me = person_of(person)
        for kind, choice in mail.items():
            if kind not in KINDS or choice not in MAIL:
                raise Invalid(Reason("mail", N_("Choose at once, once a day or never.")), kind)
            Preference.objects.update_or_create(person=me, kind=kind, defaults={"mail": choice})
        QuietHours.objects.filter(person=me).delete()
        if quiet is not None:
            if quiet[0] == quiet[1]:
                raise Invalid(Reason("quiet", N_("Quiet hours need two times.")), "quiet_to")
            QuietHours.objects.create(person=me, starts=quiet[0], ends=quiet[1])
        audit.record(
            actor=person,
            act="notices.preferences",
            thing=me,
            after={"mail": dict(mail), "quiet": [str(t) for t in quiet] if quiet else None},
        )


def add_channel(
    *,
    actor: Actor,
    kind: str,
    name: str,
    url: str,
    secret: str,
    kinds: Sequence[str],
    team_id: int | None = None,
    language: str = "zh-hans",
    now: datetime,
) -> Channel:
    """Add a webhook or robot for some kinds of happenings, of one team or of all."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "channels.manage")
        parts = urlsplit(url)
        if parts.scheme not in {"https", "http"} or not parts.hostname or parts.username:
            raise Invalid(Reason("url", N_("An address beginning with https:// is needed.")), "url")
        if kind not in CHANNELS:
            raise Invalid(Reason("kind", N_("There is no such kind of channel.")), "kind")
        if kind == "webhook" and len(secret) < 16:
            raise Invalid(
                Reason("secret", N_("A secret of at least 16 characters is needed.")), "secret"
            )
        if not kinds or set(kinds) - set(KINDS):
            raise Invalid(Reason("kinds", N_("Choose what the channel is told.")), "kinds")
        if not name.strip() or Channel.objects.filter(name=name.strip()).exists():
            raise Invalid(Reason("name", N_("This name is empty or taken.")), "name")
        row = Channel.objects.create(
            kind=kind,
            name=name.strip(),
            url=url,
            secret=secret,
            kinds=sorted(set(kinds)),
            team_id=team_id,
            language=language,
            created_at=now,
        )
        audit.record(
            actor=person,
            act="channels.add",
            thing=row,
            after={"kind": kind, "name": row.name, "url": masked(url), "kinds": row.kinds},
        )
        return row


def close_channel(*, actor: Actor, channel_id: int, now: datetime) -> None:
    """Nothing more is sent to it."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "channels.manage")
        row = lock_one(Channel.objects.filter(closed_at=None), channel_id)
        row.closed_at = now
        row.save(update_fields=["closed_at"])
        audit.record(actor=person, act="channels.close", thing=row)


def test_channel(*, actor: Actor, channel_id: int, now: datetime) -> None:
    """Send a trial message through the outbox, as every other."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "channels.manage")
        row = lock_one(Channel.objects.filter(closed_at=None), channel_id)
        key = f"test:{row.pk}:{now.isoformat()}"
        outbox.emit(
            kind="notice.channel",
            payload={
                "channel": row.pk,
                "key": key,
                "kind": row.kinds[0],
                "text": N_("A trial message of Compute Ledger."),
                "params": {},
                "url": "/",
            },
            key=f"channel:{row.pk}:{key}",
        )
        audit.record(actor=person, act="channels.test", thing=row)


def try_again(*, actor: Actor, event_id: int, now: datetime) -> None:
    """Take a dead letter up again."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "channels.manage")
        row = queries.dead_letters().select_for_update(no_key=True).filter(pk=event_id).first()
        if row is None:
            raise Missing()
        row.dead_at, row.attempts, row.due_at = None, 0, now
        row.save(update_fields=["dead_at", "attempts", "due_at"])
        audit.record(actor=person, act="channels.try_again", thing=row)
