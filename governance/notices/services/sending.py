"""Out of the house: mails in the reader's language, posts to webhooks and robots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext, ngettext

from governance.notices import queries
from governance.notices.domain.messages import KINDS, Happening, accepted, post_for
from governance.notices.models import Channel, Delivery, Notice

_TIMEOUT = httpx.Timeout(10.0, connect=5.0)


class NotTaken(Exception):
    """The other side did not take the message; the outbox tries again."""


def send_mail(*, notice_id: int, now: datetime) -> bool:
    """Mail one notice, unless it was mailed, or its reader may not hear of it any more."""
    with transaction.atomic():
        row = (
            Notice.objects.select_for_update(no_key=True, of=("self",))
            .select_related("person")
            .filter(pk=notice_id, mailed_at=None)
            .first()
        )
        if row is None or not queries.may_hear(row.person, row.project_id):
            return False
        with translation.override(row.person.language or settings.LANGUAGE_CODE):
            _mail(row.person.email, row.words, [row])
        row.mailed_at = now
        row.save(update_fields=["mailed_at"])
        return True


def send_digests(*, now: datetime) -> int:
    """One mail a person with what waits for the daily digest; returns how many mails."""
    sent = 0
    for rows in queries.digest_waiting(now).values():
        with transaction.atomic():
            ids = [row.pk for row in rows]
            fresh = list(
                Notice.objects.select_for_update(no_key=True, of=("self",))
                .select_related("person")
                .filter(pk__in=ids, mailed_at=None)
                .order_by("pk")
            )
            heard = [row for row in fresh if queries.may_hear(row.person, row.project_id)]
            Notice.objects.filter(pk__in=[row.pk for row in fresh]).update(mailed_at=now)
            if not heard:
                continue
            person = heard[0].person
            with translation.override(person.language or settings.LANGUAGE_CODE):
                words = ngettext(
                    "%(count)s notice of the day", "%(count)s notices of the day", len(heard)
                )
                _mail(person.email, words % {"count": len(heard)}, heard)
            sent += 1
    return sent


def _mail(address: str, subject: str, rows: Sequence[Notice]) -> None:
    context = {
        "rows": [(row, settings.PUBLIC_URL + row.url if row.url else "") for row in rows],
        "subject": subject,
        "preferences": settings.PUBLIC_URL + "/notices/preferences/",
        "lang": "zh-Hans" if translation.get_language() == "zh-hans" else "en",
    }
    message = EmailMultiAlternatives(
        subject=" ".join(subject.split())[:200],
        body=render_to_string("notices/mail.txt", context),
        to=[address],
    )
    message.attach_alternative(render_to_string("notices/mail.html", context), "text/html")
    message.send()


def send_to_channel(*, payload: Mapping[str, Any], now: datetime) -> bool:
    """Post one happening to a channel. NotTaken when the other side does not say that it took it;
    a repeat of what was taken is not sent again."""
    channel = Channel.objects.filter(pk=payload["channel"], closed_at=None).first()
    if channel is None:
        return False
    if Delivery.objects.filter(channel=channel, key=payload["key"]).exists():
        return False
    with translation.override(channel.language):
        params = payload["params"]
        words = gettext(payload["text"]) % params if params else gettext(payload["text"])
        happening = Happening(
            key=payload["key"],
            kind=payload["kind"],
            title=gettext(KINDS.get(payload["kind"], payload["kind"])),
            text=words,
            url=settings.PUBLIC_URL + payload["url"],
        )
    post = post_for(channel.kind, channel.url, channel.secret, happening, now)
    with httpx.Client(timeout=_TIMEOUT, follow_redirects=False, trust_env=False) as client:
        try:
            answer = client.post(post.url, content=post.body, headers=dict(post.headers))
        except httpx.HTTPError as error:
            raise NotTaken(f"{channel.name}: {type(error).__name__}") from error
    if not accepted(channel.kind, answer.status_code, answer.content):
        raise NotTaken(f"{channel.name}: {answer.status_code} {answer.text[:200]}")
    Delivery.objects.create(channel=channel, key=payload["key"], at=now, status=answer.status_code)
    return True
