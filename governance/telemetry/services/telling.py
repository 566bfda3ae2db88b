"""Mails about nodes and cards: to the operators, and to the teams whose rentals they carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from governance.accounts import queries as accounts
from governance.telemetry.models import Alert, Card


def tell(payload: Mapping[str, Any], *, now: datetime) -> int:
    """Mail one alert's opening or end to everybody it concerns, each in their language; returns
    to how many."""
    told = 0
    for person in recipients(payload["projects"], now=now):
        with translation.override(person.language or settings.LANGUAGE_CODE):
            subject, body = words(payload)
            send_mail(subject, body, None, [person.email])
        told += 1
    return told


def recipients(project_ids: Iterable[int], *, now: datetime) -> list[Any]:
    """Operators now, and the present members of the projects' teams; each once."""
    day = accounts.local_day(now)
    people = {person.pk: person for person in accounts.holders("nodes.manage", day)}
    for project_id in project_ids:
        for membership in accounts.members_of(accounts.project(project_id).team, day):
            if membership.user.is_active:
                people[membership.user_id] = membership.user
    return [people[key] for key in sorted(people)]


def words(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Subject and text in the present language."""
    names = {"node": payload["node_name"], "card": _card(payload["card"])}
    over = payload["what"] == "closed"
    texts = {
        Alert.SILENT: (_("%(node)s reports again"), _("%(node)s no longer reports")),
        Alert.LOST: (_("%(card)s is back"), _("%(card)s is lost")),
        Alert.SPOOL: (
            _("The spool of %(node)s has room again"),
            _("The spool of %(node)s is full and loses rows"),
        ),
    }
    subject = texts[payload["kind"]][0 if over else 1] % names
    link = settings.PUBLIC_URL + reverse("telemetry:node", args=[payload["node"]])
    lines = [subject + ".", link]
    if payload["rentals"] and not over:
        lines.insert(
            1,
            _("Rentals on it: %(rentals)s. Missing time is shown as unknown, never as idle.")
            % {"rentals": ", ".join(map(str, payload["rentals"]))},
        )
    return subject, "\n".join(lines)


def _card(card_id: int | None) -> str:
    card = Card.objects.select_related("node").filter(pk=card_id).first() if card_id else None
    return str(card) if card else ""
