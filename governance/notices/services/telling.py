"""One call for the rooms above: tell these people (and the channels) what happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from governance.accounts import queries as accounts
from governance.notices import queries
from governance.notices.domain.messages import KINDS, after_quiet
from governance.notices.models import Notice
from governance.plumbing import outbox


def tell(
    *,
    kind: str,
    text: str,
    params: Mapping[str, Any],
    url: str,
    key: str,
    people: Iterable[int],
    project_id: int | None = None,
    team_id: int | None = None,
    now: datetime,
) -> int:
    """Write a notice to each person, once per key, and put mails and channel posts into the outbox.

    `text` is a message id with %(name)s places, marked by N_ in the caller's room; `url` a path.
    Who may not (any more) see the project hears nothing. Returns how many were told.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of notice {kind!r}")
    told = 0
    with transaction.atomic():
        for person in accounts.people().filter(pk__in=set(people)):
            if not queries.may_hear(person, project_id):
                continue
            row, new = Notice.objects.get_or_create(
                person=person,
                key=key,
                defaults={
                    "kind": kind,
                    "text": text,
                    "params": dict(params),
                    "url": url,
                    "project_id": project_id,
                    "created_at": now,
                },
            )
            if not new:
                continue
            told += 1
            if queries.mail_choice(person.pk, kind) == "now":
                quiet = queries.quiet_hours(person.pk)
                due = after_quiet(now, *quiet, accounts.zone()) if quiet else now
                outbox.emit(
                    kind="notice.mail",
                    payload={"notice": row.pk},
                    key=f"notice:{row.pk}:mail",
                    due_at=due,
                )
        for channel in queries.listening(kind, team_id):
            outbox.emit(
                kind="notice.channel",
                payload={
                    "channel": channel.pk,
                    "key": key,
                    "kind": kind,
                    "text": text,
                    "params": dict(params),
                    "url": url,
                },
                key=f"channel:{channel.pk}:{key}",
            )
    return told
