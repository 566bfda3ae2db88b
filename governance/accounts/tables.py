"""Tables of people and of the trail."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from governance.accounts.domain import roles
from governance.accounts.models import User
from governance.plumbing.models import AuditEvent
from governance.ui.tables import Column, Table


def people_table(rows: QuerySet[User], params: QueryDict) -> Table:
    """People with roles and teams."""
    return Table(
        columns=[
            Column(
                "name",
                _("Name"),
                sub="email",
                order="name",
                stick=True,
                href=lambda p: reverse("accounts:person", args=[p.pk]),
            ),
            Column("roles", _("Roles"), value=role_words),
            Column("teams", _("Teams"), value=team_words),
            Column("last_login", _("Last sign-in"), kind="ago", order="last_login"),
            Column("state", _("State"), kind="badge", value=account_badge),
        ],
        rows=rows,
        params=params,
        caption=_("People"),
        sort="name",
        page_size=50,
    )


def role_words(person: Any) -> str:
    return ", ".join(_(roles.ROLE_NAMES[g.role]) for g in person.current_grants)


def team_words(person: Any) -> str:
    return ", ".join(
        f"{m.team.name} ({_(roles.ROLE_NAMES[m.role])})" for m in person.current_memberships
    )


def account_badge(person: User) -> tuple[str, str]:
    return ("good", _("open")) if person.is_active else ("plain", _("closed"))


def trail_table(rows: QuerySet[AuditEvent], params: QueryDict) -> Table:
    """The newest first; 50 a page."""
    return Table(
        columns=[
            Column("at", _("When"), kind="moment"),
            Column("actor_name", _("Who"), sub="actor_key"),
            Column("act", _("Act")),
            Column("thing", _("Thing"), value=lambda e: f"{e.thing_type} {e.thing_id}"),
            Column("change", _("Before and after"), value=change_words),
            Column("reason", _("Reason"), sub="request_id"),
        ],
        rows=rows,
        params=params,
        caption=_("Audit trail"),
        page_size=50,
        css="compact",
        empty=_("No event matches."),
        exports=[("CSV", reverse("accounts:audit_export") + "?" + params.urlencode())],
    )


def change_words(event: AuditEvent) -> str:
    """Only what differs: "state: submitted → approved"."""
    before, after = event.before or {}, event.after or {}
    if not isinstance(before, dict) or not isinstance(after, dict):
        return ""
    words = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        words.append(
            f"{name}: {short(old)} → {short(new)}" if name in before else f"{name}: {short(new)}"
        )
    return "; ".join(words)


def short(value: Any) -> str:
    text = "–" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"


def trail_row(event: AuditEvent) -> list[Any]:
    """One event as a line of the export."""
    return [
        event.at,
        event.actor_name,
        event.act,
        event.thing_type,
        event.thing_id,
        "" if event.before is None else json.dumps(event.before, ensure_ascii=False),
        "" if event.after is None else json.dumps(event.after, ensure_ascii=False),
        event.reason,
        event.request_id,
    ]
