"""What the nights' judgements say, beside the plain 30 % rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery

from governance.kernel.errors import Missing
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.reports.domain.judgement import CONFIDENCE, score
from governance.reports.domain.tables import Column, Result
from governance.reports.models import Judgement, Recommendation, SavedView
from governance.reports.queries.base import Params, answer, report
from governance.reports.queries.names import ids


def latest(viewer: Actor, params: Params) -> QuerySet[Judgement]:
    """The last judgement of each rental on one of the days."""
    last = Judgement.objects.filter(
        rental=OuterRef("rental"), day__gte=params.first, day__lte=params.last
    ).order_by("-day")
    rows = Judgement.objects.visible_to(viewer).filter(pk=Subquery(last.values("pk")[:1]))
    wanted = ids(viewer, params.filters)
    for name, lookup in (
        ("team", "rental__project__team_id"),
        ("project", "rental__project_id"),
        ("vendor", "rental__vendor"),
        ("card_model", "rental__card_model"),
        ("rental", "rental_id"),
    ):
        if name in wanted:
            rows = rows.filter(**{lookup: wanted[name]})
    return rows.select_related("rental__project__team").order_by(
        F("saving").desc(nulls_last=True), "rental_id"
    )


def open_recommendations(viewer: Actor) -> QuerySet[Recommendation]:
    """What waits for an answer or a decision, the largest promise first."""
    return (
        Recommendation.objects.visible_to(viewer)
        .filter(state__in=Recommendation.OPEN)
        .select_related("rental__project__team", "latest", "answered_by")
        .order_by(F("saving").desc(nulls_last=True), "pk")
    )


def open_flags(viewer: Actor, rental_id: int) -> QuerySet[Recommendation]:
    """Open recommendations of one rental: a price page knows them."""
    return open_recommendations(viewer).filter(rental_id=rental_id)


def recommendation_for(viewer: Actor, recommendation_id: int) -> Recommendation:
    """One recommendation, or Missing (404)."""
    found = (
        Recommendation.objects.visible_to(viewer)
        .select_related("rental__project__team", "latest", "judgement", "answered_by", "decided_by")
        .filter(pk=recommendation_id)
        .first()
    )
    if found is None:
        raise Missing()
    return found


def decided(viewer: Actor) -> QuerySet[Recommendation]:
    """Accepted ones, with what was promised and what came of it."""
    return (
        Recommendation.objects.visible_to(viewer)
        .filter(state="accepted")
        .select_related("rental__project__team", "decided_by")
        .order_by("-decided_at")
    )


def saved_views(viewer: Actor) -> QuerySet[SavedView]:
    """The viewer's own saved views."""
    return SavedView.objects.filter(owner_id=getattr(viewer, "pk", None))


@report(
    "downgrade",
    N_("Flags and downgrades"),
    N_("Which rentals pay for memory bandwidth they do not use, why, and what to change?"),
    filters=("team", "project", "vendor", "card_model", "rental"),
)
def downgrade(viewer: Actor, params: Params) -> Result:
    """The plain 30 % rule beside the diagnosed verdict, per rental, as last judged."""
    rows = [row_of(one) for one in latest(viewer, params).defer("evidence", "settings")]
    counts = score([(row["plain_flag"], row["outcome"]) for row in rows])
    columns = (
        Column("rental", N_("Rental")),
        Column("card", N_("Cards")),
        Column(
            "share",
            N_("Share, active time"),
            "share",
            formula="bandwidth_share_active_mean",
            measured=True,
        ),
        Column("plain_flag", N_("30 % rule")),
        Column("verdict", N_("Diagnosis")),
        Column("row", N_("Row"), "count"),
        Column("action", N_("What to do")),
        Column("saving_month", N_("Saving a month"), "money"),
        Column("currency", N_("Currency")),
        Column("confidence", N_("Confidence")),
        Column("coverage", N_("Coverage"), "share"),
        Column("metric_source", N_("Source")),
        Column("day", N_("Judged on"), "day"),
        Column("outcome", ""),
    )
    text = N_(
        "The 30 %% rule would downgrade %(says)d rentals. The diagnosis confirms %(confirmed)d, "
        "finds %(repair)d to repair or release instead, keeps %(kept)d and cannot judge "
        "%(unjudged)d. It finds %(missed)d of which the rule says nothing."
    )
    values = {
        "says": counts.rule_says,
        "confirmed": counts.confirmed,
        "repair": counts.repair,
        "kept": counts.kept,
        "unjudged": counts.unjudged,
        "missed": counts.missed,
    }
    total = {"saving_month": _sum(rows), "currency": _only(rows)}
    notes = [Reason("score", text, values)] if rows else []
    return answer("downgrade", params, columns, rows, total=total, notes=notes)


def row_of(one: Judgement) -> dict[str, Any]:
    """A judgement as a line of the report."""
    diagnosis: Mapping[str, Any] = one.diagnosis or {}
    return {
        "rental": str(one.rental),
        "id": one.rental_id,
        "card": f"{one.rental.cards} x {one.rental.card_model}",
        "share": one.share,
        "plain_flag": one.plain_rule,
        "verdict": diagnosis.get("verdict") or "undetermined",
        "row": one.row,
        "action": diagnosis.get("action") or "",
        "saving_month": one.saving,
        "currency": one.currency,
        "confidence": CONFIDENCE[one.fidelity] if one.outcome != "unknown" else "none",
        "coverage": one.coverage,
        "metric_source": one.source,
        "day": one.day,
        "outcome": one.outcome,
    }


def _only(rows: list[dict[str, Any]]) -> str | None:
    codes = {row["currency"] for row in rows}
    return codes.pop() if len(codes) == 1 else None


def _sum(rows: list[dict[str, Any]]) -> Any:
    known = [row["saving_month"] for row in rows if row["saving_month"] is not None]
    return sum(known[1:], known[0]) if known and _only(rows) else None
