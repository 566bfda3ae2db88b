"""The page of flags: the plain rule beside the diagnosis, and where the paid bandwidth went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from governance.kernel.reasons import N_, Reason
from governance.reports.domain.judgement import CONFIDENCE, CONFIDENCES, Scores, score
from governance.reports.domain.waterfall import NAMES, PARTS, avoidable
from governance.reports.models import Judgement, Recommendation
from governance.reports.pages import link
from governance.ui import formats

CAUSES: dict[str, str] = {
    "no_data": N_("No verdict"),
    "fault": N_("Hardware fault"),
    "idle": N_("Idle held"),
    "starved": N_("Starved by data"),
    "link_bound": N_("Link-bound"),
    "waiting": N_("Waiting for each other"),
    "compute_bound": N_("Compute-bound"),
    "compute_mixed": N_("Partly compute-bound"),
    "capacity_bound": N_("Bought for memory"),
    "bandwidth_bound": N_("Bandwidth-bound"),
    "elementwise": N_("Element-wise kernels"),
    "peak_provisioned": N_("Sized for its peak"),
    "launch_bound": N_("Small kernels"),
    "oversized": N_("Over-provisioned"),
    "unclear": N_("Unclear"),
}
TONES = {"downgrade": "act", "idle": "act", "repair": "watch", "keep": "good", "unknown": "unknown"}
FIGURES = {
    "sm": N_("SM %(share)s"),
    "tensor": N_("tensor %(share)s"),
    "memory_peak_share": N_("memory peak %(share)s of the card"),
    "link": N_("links %(share)s"),
    "network": N_("network %(share)s"),
}
RULE = {
    ("downgrade", True): N_("The rule agrees."),
    ("downgrade", False): N_("The rule says nothing."),
    ("idle", True): N_("The rule alone would change the card, which would stand idle as well."),
    ("idle", False): N_("The rule sees active time only and misses this."),
    ("repair", True): N_("The rule alone would bring a smaller card that waits just as long."),
    ("repair", False): N_("The rule says nothing."),
    ("keep", True): N_("The rule alone would take away a card that is needed."),
    ("keep", False): N_("The rule agrees."),
    ("unknown", True): N_("The rule judges on what little it saw."),
    ("unknown", False): N_("The rule judges on what little it saw."),
}


@dataclass(frozen=True)
class FlagRow:
    """One rental as it stands on the page."""

    judgement: Judgement
    recommendation: Recommendation | None
    share: str
    rule_flags: bool | None
    tone: str
    cause: str
    figures: str
    reason: str
    action: str
    rule_alone: str
    saving: Decimal | None
    confidence: str
    parts: list[tuple[str, str, float]]
    coverage: str
    incomplete: bool
    href: str


def reason_of(row: Judgement) -> str:
    """Why: the diagnosis' own sentence, what is missing for one, or how idle the cards were."""
    told_by = {"unknown": "BW_LOW_30", "idle": "IDLE"}.get(row.outcome)
    if told_by:
        for finding in row.findings:
            if finding["kind"] == told_by:
                found = finding["reason"]
                return Reason(found["code"], found["text"], found["params"]).render(_)
    told = row.diagnosis or {}
    if not told:
        return _("The card model is not known.")
    return Reason("reason", told["reason"], told["reason_params"]).render(_)


def figures_of(row: Judgement) -> str:
    """The figures that decided, in one line."""
    found = (row.diagnosis or {}).get("figures", {})
    told = [
        _(text) % {"share": formats.percent(found[key], 0)}
        for key, text in FIGURES.items()
        if found.get(key) is not None
    ]
    return ", ".join(told)


def action_of(row: Judgement) -> str:
    """What to do: the cheaper package, or the diagnosis' advice."""
    if row.outcome == "unknown":
        return _("Mend the readings of these cards, then judge again.")
    cheaper = row.what_if
    if row.outcome == "downgrade" and cheaper:
        return _("Renew as %(count)d × %(card)s from %(vendor)s; %(factor)s × as long.") % {
            "count": row.rental.cards,
            "card": cheaper["card_name"],
            "vendor": cheaper["vendor"],
            "factor": formats.number(cheaper["what_if"]["time_factor"], 2),
        }
    if row.outcome == "idle":
        if row.rental.plan_kind in ("hourly", "spot"):
            return _("Stop the cards while nothing runs, or release them.")
        return _("Release the cards at the end of the paid term.")
    if row.outcome == "keep" and not row.plain_rule:
        return _("Leave it as it is")
    return _((row.diagnosis or {}).get("action") or N_("Leave it as it is"))


def shares_of(row: Judgement) -> list[tuple[str, str, float]]:
    """The parts of the paid bandwidth as shares, for the bar."""
    amounts = {part: Decimal(value) for part, value in row.parts.items()}
    whole = sum(amounts.values(), Decimal(0))
    if not whole:
        return []
    return [
        (part, _(NAMES[part]), float(amounts[part] / whole))
        for part in (*PARTS[:-2], "used", "no_data")
        if amounts.get(part)
    ]


def flag_row(row: Judgement, recommendation: Recommendation | None) -> FlagRow:
    """A judgement as a row."""
    upper = "≤ " if row.fidelity == "duty_bound" and row.share is not None else ""
    flagged = bool(row.plain_rule)
    known = row.outcome != "unknown"
    cause = "idle" if row.outcome == "idle" else (row.cause if known else "no_data")
    if row.outcome == "keep" and not row.plain_rule and row.cause == "unclear":
        cause_word = _("Healthy")
    else:
        cause_word = _(CAUSES.get(cause, N_("Unclear")))
    return FlagRow(
        judgement=row,
        recommendation=recommendation,
        share=upper + formats.percent(row.share),
        rule_flags=row.plain_rule,
        tone=TONES[row.outcome],
        cause=cause_word,
        figures=figures_of(row),
        reason=reason_of(row),
        action=action_of(row),
        rule_alone=_(RULE[row.outcome, flagged]),
        saving=row.saving,
        confidence=_(CONFIDENCES[CONFIDENCE[row.fidelity]]) if known else "",
        parts=shares_of(row),
        coverage=formats.percent(row.coverage, 0),
        incomplete=not known,
        href=link("rentals:detail", row.rental_id),
    )


def legend() -> list[tuple[str, str]]:
    """The colours of the causes, in words."""
    return [(part, _(NAMES[part])) for part in (*PARTS[:-2], "used", "no_data")]


@dataclass(frozen=True)
class FlagsPage:
    """Everything the page shows."""

    rows: Sequence[FlagRow]
    snoozed: Sequence[Recommendation]
    scores: Scores
    falls: list[tuple[str, str, Decimal]]
    sums: Mapping[str, Decimal]
    used_share: float | None
    currency: str
    saving: Decimal | None
    left_out: int
    cards: int


def build(
    judged: Sequence[Judgement], waiting: Sequence[Recommendation], currency: str
) -> FlagsPage:
    """The page from last judgements and open recommendations; the waterfall adds up the rentals
    in the organisation's currency whose bandwidth was measured."""
    by_rental: dict[int, Recommendation] = {}
    for one in waiting:
        if one.state != "snoozed":
            by_rental.setdefault(one.rental_id, one)
    rows = [flag_row(row, by_rental.get(row.rental_id)) for row in judged]
    totals = dict.fromkeys(PARTS, Decimal(0))
    counted = [row for row in judged if row.parts and row.currency == currency]
    for row in counted:
        for part, amount in row.parts.items():
            totals[part] += Decimal(amount)
    paid = sum(totals.values(), Decimal(0))
    falls = [("whole", _("Paid"), paid)]
    falls += [(p, _(NAMES[p]), totals[p]) for p in PARTS[:-1] if totals[p]]
    falls.append(("used", _(NAMES["used"]), totals["used"]))
    decidable = [row.saving for row in rows if row.recommendation and row.saving is not None]
    neutral = totals["compute_bound"] + totals["capacity_bound"]
    return FlagsPage(
        rows=rows,
        snoozed=[one for one in waiting if one.state == "snoozed"],
        scores=score([(row.plain_rule, row.outcome) for row in judged]),
        falls=falls if paid else [],
        sums={"avoidable": avoidable(totals), "neutral": neutral, "used": totals["used"]},
        used_share=float(totals["used"] / paid) if paid else None,
        currency=currency,
        saving=sum(decidable[1:], decidable[0]) if decidable else None,
        left_out=len(judged) - len(counted),
        cards=sum(row.rental.cards for row in counted),
    )


def findings_of(row: Judgement) -> list[dict[str, Any]]:
    """Every kind's finding in words, for the page of a recommendation."""
    return [
        {
            "kind": found["kind"],
            "answer": found["answer"],
            "confidence": found["confidence"],
            "reason": Reason(
                found["reason"]["code"], found["reason"]["text"], found["reason"]["params"]
            ).render(_),
        }
        for found in row.findings
    ]
