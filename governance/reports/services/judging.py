"""The nightly judgement: one row per rental and night, flags moved, recommendations opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Max

from governance.accounts.queries import organisation
from governance.kernel.periods import local_date, local_midnight
from governance.kernel.policy import SYSTEM
from governance.matching import to_json
from governance.plumbing import audit, outbox
from governance.rentals import services as rentals
from governance.reports.domain.judgement import (
    ACTIONABLE,
    KINDS,
    VERSION,
    Evidence,
    Finding,
    Settings,
    Standing,
    findings,
    plain_rule,
    step,
)
from governance.reports.models import Flag, Judgement, Recommendation
from governance.reports.services.evidence import WINDOW_DAYS, Night, nights
from governance.telemetry.queries.freshness import hours_to_roll_up

CATCH_UP = 7
REPAIR = ("FIX_INPUT", "LINK_BOUND", "FAULT")


def judge(*, day: date, now: datetime, settings: Settings | None = None) -> int:
    """Judge every rental that ran on the local day; returns how many were judged now.

    A rental already judged for the day is left as it is, so that a second run changes nothing;
    days are to be judged in order. All of a night in one transaction.
    """
    chosen = settings or Settings()
    with transaction.atomic():
        done = set(Judgement.objects.filter(day=day).values_list("rental_id", flat=True))
        fresh = [n for n in nights(day, now, chosen) if n.rental.pk not in done]
        if not fresh:
            return 0
        ids = [night.rental.pk for night in fresh]
        flags: dict[int, dict[str, Flag]] = {}
        for flag in Flag.objects.filter(rental_id__in=ids).select_for_update(no_key=True):
            flags.setdefault(flag.rental_id, {})[flag.kind] = flag
        judged = [
            _judged(night, flags.get(night.rental.pk, {}), day, now, chosen) for night in fresh
        ]
        rows = Judgement.objects.bulk_create([row for row, _ in judged])
        _move(fresh, rows, [found for _, found in judged], flags, day, chosen)
    return len(fresh)


def judge_missed(*, now: datetime) -> int:
    """Judge the days since the last judged one up to yesterday, at most a week back; not before
    the readings of those days are rolled up. Returns how many rentals were judged."""
    zone = ZoneInfo(organisation().timezone)
    today = local_date(now, zone)
    last = Judgement.objects.aggregate(day=Max("day"))["day"]
    first = max(last + timedelta(days=1) if last else date.min, today - timedelta(days=CATCH_UP))
    if first >= today or hours_to_roll_up(local_midnight(today, zone)):
        return 0
    days = [first + timedelta(days=i) for i in range((today - first).days)]
    return sum(judge(day=day, now=now) for day in days)


def _judged(
    night: Night, flags: Mapping[str, Flag], day: date, now: datetime, settings: Settings
) -> tuple[Judgement, list[Finding]]:
    standing = {kind: flag.state in ("open", "snoozed") for kind, flag in flags.items()}
    found = findings(night.evidence, settings, standing)
    verdict, cheaper = night.verdict, night.alternative
    saving = _saving(found, night)
    row = Judgement(
        rental=night.rental,
        day=day,
        window_days=WINDOW_DAYS,
        version=VERSION,
        settings=asdict(settings),
        evidence={**to_json(night.evidence), "standing": standing},
        findings=to_json(found),
        diagnosis=None if verdict is None else _told(verdict),
        plain_rule=plain_rule(night.evidence.share, settings),
        share=night.evidence.share,
        coverage=night.evidence.coverage,
        source=night.source,
        fidelity=night.evidence.fidelity,
        row=verdict.row if verdict else None,
        cause=verdict.cause if verdict else "",
        outcome=outcome(found, night.evidence),
        what_if=None if cheaper is None else to_json(cheaper),
        saving=saving,
        cost=night.cost_window,
        parts={part: str(amount) for part, amount in night.parts.items()},
        currency=night.rental.currency,
        simulated=night.evidence.simulated,
        made_at=now,
    )
    return row, found


def _told(verdict: Any) -> dict[str, Any]:
    """A diagnosis as it is kept: message ids with their values, so that it can be translated."""
    return {
        "row": verdict.row,
        "cause": verdict.cause,
        "downgrade": verdict.downgrade,
        "verdict": verdict.verdict.text,
        "action": verdict.action.text,
        "reason": verdict.reason.text,
        "reason_params": to_json(dict(verdict.reason.params)),
        "figures": to_json(verdict.figures),
        "confidence": verdict.confidence,
    }


def outcome(found: list[Finding], evidence: Evidence) -> str:
    """The night in one word: fault and idle before downgrade, repair, keep; or unknown."""
    yes = {finding.kind for finding in found if finding.answer in ("yes", "stay")}
    if "IDLE" in yes or evidence.row == 2:
        return "idle"
    if yes & set(REPAIR) or evidence.row == 5:
        return "repair"
    if "DOWNGRADE_CANDIDATE" in yes:
        return "downgrade"
    low = next(finding for finding in found if finding.kind == "BW_LOW_30")
    return "unknown" if low.answer == "undetermined" else "keep"


def _saving(found: list[Finding], night: Night) -> Decimal | None:
    """The largest promise of the kinds that said yes; they are not added up."""
    yes = [finding.kind for finding in found if finding.answer in ("yes", "stay")]
    known = [value for kind in yes if (value := night.savings.get(kind)) is not None]
    return max(known, default=None)


def _move(
    fresh: list[Night],
    rows: list[Judgement],
    found: list[list[Finding]],
    flags: Mapping[int, Mapping[str, Flag]],
    day: date,
    settings: Settings,
) -> None:
    """Flags one night on; recommendations open, follow, return or close with them. A rental on
    which a flag opens renews itself no more until a person says so again."""
    changed: list[Flag] = []
    open_ones = {
        (one.rental_id, one.kind): one
        for one in Recommendation.objects.filter(
            rental_id__in=[n.rental.pk for n in fresh], state__in=Recommendation.OPEN
        ).select_for_update(no_key=True)
    }
    for night, row, answers in zip(fresh, rows, found, strict=True):
        opened: list[str] = []
        for finding in answers:
            known = flags.get(night.rental.pk, {}).get(finding.kind)
            before = _standing(known)
            after, event = step(before, finding, day, settings)
            flag = known or Flag(rental=night.rental, kind=finding.kind)
            flag.state, flag.streak = after.state, after.streak
            flag.since, flag.until, flag.judged_on = after.since, after.until, day
            changed.append(flag)
            if event == "opened":
                opened.append(KINDS[finding.kind])
            if finding.kind in ACTIONABLE:
                one = open_ones.get((night.rental.pk, finding.kind))
                _follow(one, event, night, row, finding, day, settings)
        if opened and night.rental.auto_renew:
            rentals.set_auto_renew(
                actor=SYSTEM,
                rental_id=night.rental.pk,
                on=False,
                reason=f"flagged: {', '.join(opened)}",
            )
    Flag.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["rental", "kind"],
        update_fields=["state", "streak", "since", "until", "judged_on"],
    )


def _standing(flag: Flag | None) -> Standing:
    if flag is None:
        return Standing()
    return Standing(flag.state, flag.streak, flag.since, flag.until)  # type: ignore[arg-type]


def _follow(
    one: Recommendation | None,
    event: str,
    night: Night,
    row: Judgement,
    finding: Finding,
    day: date,
    settings: Settings,
) -> None:
    if event == "opened" and one is None:
        _open(night, row, finding, day, settings)
    elif one is not None and event == "closed":
        one.state = "closed"
        one.save(update_fields=["state"])
        audit.record(actor=SYSTEM, act="recommendations.close", thing=one)
    elif one is not None:
        one.latest, one.saving = row, night.savings.get(finding.kind)
        if event == "returned":
            one.state, one.until = ("answered" if one.answer else "asked"), None
        one.save(update_fields=["latest", "saving", "state", "until"])


def _open(night: Night, row: Judgement, finding: Finding, day: date, settings: Settings) -> None:
    one = Recommendation.objects.create(
        rental=night.rental,
        kind=finding.kind,
        judgement=row,
        latest=row,
        opened_on=day,
        answer_by=day + timedelta(days=settings.answer_days),
        saving=night.savings.get(finding.kind),
        currency=night.rental.currency,
        confidence=finding.confidence,
        cost_before=night.cost_month,
    )
    audit.record(
        actor=SYSTEM,
        act="recommendations.open",
        thing=one,
        after={"kind": one.kind, "saving": one.saving, "judgement": row.pk},
        project_id=night.rental.project_id,
    )
    outbox.emit(
        kind="reports.recommendation_opened",
        payload={
            "recommendation_id": one.pk,
            "rental_id": night.rental.pk,
            "project_id": night.rental.project_id,
            "request_id": night.rental.request_id,
            "kind": one.kind,
            "saving": None if one.saving is None else str(one.saving),
            "currency": one.currency,
            "answer_by": one.answer_by.isoformat(),
        },
        key=f"recommendation:{one.pk}:opened",
    )


def replay(row: Judgement) -> list[Finding]:
    """The findings again from the stored inputs; equal to the stored ones for this version."""
    stored = dict(row.evidence)
    standing = stored.pop("standing")
    stored["models"] = tuple(stored["models"])
    for name in ("hours_per_month", "break_even_hours"):
        stored[name] = None if stored[name] is None else Decimal(stored[name])
    return findings(Evidence(**stored), Settings(**row.settings), standing)
