"""Saved views of reports: a report with its filters under a name, for its owner."""

from __future__ import annotations

from django.db import transaction

from governance.kernel.errors import Invalid, Missing
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.reports.models import SavedView
from governance.reports.queries import find

MOST = 50


def save_view(*, actor: Actor, name: str, report: str, query: str, rhythm: str = "") -> SavedView:
    """Save (or save again under the same name) a report as it is asked now."""
    find(report)
    words = name.strip()[:120]
    if not words:
        raise Invalid(Reason("name", N_("Give it a name.")), "name")
    if rhythm not in SavedView.RHYTHMS:
        raise Invalid(Reason("rhythm", N_("Choose one of the rhythms.")), "rhythm")
    owner = getattr(actor, "pk", None)
    with transaction.atomic():
        mine = SavedView.objects.filter(owner_id=owner)
        if mine.exclude(name=words).count() >= MOST:
            text = N_("At most %(most)d saved views; delete one first.")
            raise Invalid(Reason("many", text, {"most": MOST}), "name")
        view, _ = SavedView.objects.update_or_create(
            owner_id=owner,
            name=words,
            defaults={"report": report, "query": query[:1000], "rhythm": rhythm},
        )
        audit.record(
            actor=actor,
            act="reports.save_view",
            thing=view,
            after={"report": report, "query": view.query, "rhythm": rhythm},
        )
        return view


def forget_view(*, actor: Actor, view_id: int) -> None:
    """Delete one of one's own saved views."""
    with transaction.atomic():
        view = SavedView.objects.filter(owner_id=getattr(actor, "pk", None), pk=view_id).first()
        if view is None:
            raise Missing()
        audit.record(actor=actor, act="reports.forget_view", thing=view, before={"name": view.name})
        view.delete()
