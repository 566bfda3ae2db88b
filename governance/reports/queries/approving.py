"""What the nights' judgements tell an approver about a new request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from governance.kernel.policy import Actor
from governance.reports.models import KINDS, Flag, Judgement
from governance.requests.evidence import evidence
from governance.ui import formats

LOOKS_BACK = timedelta(days=90)
SHOWN = 5


@evidence("accuracy")
def accuracy(viewer: Actor, request: Any, now: datetime) -> Sequence[str]:
    """How much of the card-hours asked for and held the requester, and the team, really used: the
    last judgement of each of their rentals within 90 days, weighted by hours held. Rentals of
    which nothing was measured do not count as unused."""
    judged = _latest(viewer, now)
    lines = [
        (_("Requester"), judged.filter(rental__request__requester=request.requester_id)),
        (_("Team"), judged.filter(rental__project__team=request.project.team_id)),
    ]
    return [_used(who, rows.values_list("evidence", flat=True)) for who, rows in lines]


@evidence("flags")
def flags(viewer: Actor, request: Any, now: datetime) -> Sequence[str]:
    """Open and snoozed flags on rentals of the team that still run, the oldest first."""
    rows = list(
        Flag.objects.visible_to(viewer)
        .filter(
            state__in=("open", "snoozed"),
            rental__project__team=request.project.team_id,
            rental__closed_at=None,
        )
        .select_related("rental")
        .order_by(F("since").asc(nulls_last=True), "rental_id", "kind")
    )
    lines = [
        _("%(rental)s: %(flag)s since %(day)s")
        % {"rental": row.rental, "flag": KINDS[row.kind], "day": row.since}
        for row in rows[:SHOWN]
    ]
    more = len(rows) - SHOWN
    if more > 0:
        lines.append(ngettext("and %(n)d more", "and %(n)d more", more) % {"n": more})
    return lines


def _latest(viewer: Actor, now: datetime) -> QuerySet[Judgement]:
    last = Judgement.objects.filter(
        rental=OuterRef("rental"), day__gte=(now - LOOKS_BACK).date(), day__lte=now.date()
    ).order_by("-day")
    seen: QuerySet[Judgement] = Judgement.objects.visible_to(viewer)
    return seen.filter(pk=Subquery(last.values("pk")[:1]))


def _used(who: str, judged: QuerySet[Any, Mapping[str, Any]]) -> str:
    known = [one for one in judged if one["active_share"] is not None and one["held_hours"]]
    if not known:
        return _("%(who)s: no measured rental in the last 90 days") % {"who": who}
    held = sum(one["held_hours"] for one in known)
    used = sum(one["held_hours"] * one["active_share"] for one in known)
    return ngettext(
        "%(who)s: used %(share)s of %(held)s card-hours held (%(n)d rental measured)",
        "%(who)s: used %(share)s of %(held)s card-hours held (%(n)d rentals measured)",
        len(known),
    ) % {
        "who": who,
        "share": formats.percent(used / held, 0),
        "held": formats.number(held, 0),
        "n": len(known),
    }
