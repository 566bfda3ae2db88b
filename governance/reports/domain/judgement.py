"""From a night's evidence to flags: what is seen, whether it counts, and when a flag opens.

Three steps, each replayable from its stored inputs:
1. `findings`: what the evidence says of every kind of flag, with UNDETERMINED and NOT_APPLICABLE
   as answers of their own;
2. `step`: how a standing flag moves with tonight's finding (consecutive nights before opening,
   hysteresis, cool-down after a decision, snooze);
3. `plain_rule`: what the bare 30 % rule would say, shown beside the diagnosis and never acted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

from governance.kernel.reasons import N_, Reason

VERSION = 1

KINDS = {
    "BW_LOW_30": N_("Bandwidth under 30 %"),
    "IDLE": N_("Idle held"),
    "DOWNGRADE_CANDIDATE": N_("Over-provisioned"),
    "UPGRADE_BANDWIDTH": N_("Bandwidth-bound"),
    "FIX_INPUT": N_("Starved by data"),
    "LINK_BOUND": N_("Link-bound"),
    "MIXED_CARDS": N_("Mixed cards"),
    "BELOW_SPEC": N_("Below specification"),
    "FAULT": N_("Hardware fault"),
    "CONTRACT_MISMATCH": N_("Contract does not fit the use"),
}
ACTIONABLE = tuple(kind for kind in KINDS if kind != "BW_LOW_30")
"""Kinds that open a recommendation; BW_LOW_30 alone is a flag, never advice to downgrade."""

Answer = Literal["yes", "no", "stay", "undetermined", "not_applicable"]
Confidence = Literal["high", "medium", "low", "none"]

CONFIDENCE: dict[str, Confidence] = {
    "dram_bw": "high",
    "duty_bound": "medium",
    "vendor_pct": "low",
    "unknown": "none",
}
CONFIDENCES = {
    "high": N_("high"),
    "medium": N_("medium, a person confirms"),
    "low": N_("low, a person confirms"),
    "none": N_("none"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Thresholds; shares 0..1. Kept with every verdict."""

    enter: float = 0.30
    leave: float = 0.40
    min_days: float = 7
    min_coverage: float = 0.70
    min_active_hours: float = 24
    idle_active: float = 0.05
    idle_hours: float = 24
    idle_paid: float = 0.50
    """Cards paid by the hour that work less than this share of the window are to be stopped in
    between; prepaid ones cost the same either way."""
    below_spec: float = 0.60
    """A busy card whose best minute stays under this share of the practical ceiling."""
    ceiling: float = 0.80
    busy: float = 0.80
    mixed_ratio: float = 1.2
    contract_margin: float = 0.10
    consecutive: int = 3
    cooldown_days: int = 14
    answer_days: int = 5
    settle_days: int = 7


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one rental over the window that ends tonight.

    Active means are over active time. `row` and `cause` are the diagnosis (row of the decision
    table that matched); `what_if` is whether a cheaper package passed. Hours are card-hours.
    """

    days: float
    held_hours: float
    coverage: float | None
    active_hours: float | None
    fidelity: str = "unknown"
    share: float | None = None
    share_p95: float | None = None
    share_max: float | None = None
    sm: float | None = None
    tensor: float | None = None
    active_share: float | None = None
    recent_active_share: float | None = None
    recent_coverage: float | None = None
    serving: bool = False
    models: tuple[str, ...] = ()
    slowest_ratio: float | None = None
    row: int | None = None
    cause: str = ""
    what_if: bool = False
    committed: bool = False
    hours_per_month: Decimal | None = None
    break_even_hours: Decimal | None = None
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Tonight's answer for one kind."""

    kind: str
    answer: Answer
    confidence: Confidence
    reason: Reason


def plain_rule(share: float | None, settings: Settings) -> bool | None:
    """The bare rule of the sources on whatever was seen: True is "change the card", None unseen."""
    return None if share is None else share < settings.enter


def findings(evidence: Evidence, settings: Settings, standing: Mapping[str, bool]) -> list[Finding]:
    """One finding per kind; `standing` says which kinds have a standing yes (for hysteresis)."""
    confidence = CONFIDENCE.get(evidence.fidelity, "none")
    found = [
        _bandwidth(evidence, settings, confidence, standing.get("BW_LOW_30", False)),
        _idle(evidence, settings),
        *_diagnosed(evidence, settings, confidence),
        _mixed(evidence, settings),
        _below_spec(evidence, settings, confidence),
        _contract(evidence, settings),
    ]
    return sorted(found, key=lambda finding: list(KINDS).index(finding.kind))


def too_little(evidence: Evidence, settings: Settings) -> Reason | None:
    """Why the window is not enough for a verdict, or None where it is."""
    if evidence.days < settings.min_days:
        return Reason(
            "too_short",
            N_("Only %(days).1f days of use are known; a verdict needs %(least).0f."),
            {"days": evidence.days, "least": settings.min_days},
        )
    if evidence.coverage is None or evidence.coverage < settings.min_coverage:
        return Reason(
            "coverage",
            N_("%(known).0f %% of the rented time is known; at least %(least).0f %% is needed."),
            {"known": 100 * (evidence.coverage or 0.0), "least": 100 * settings.min_coverage},
        )
    if evidence.active_hours is None or evidence.active_hours < settings.min_active_hours:
        return Reason(
            "active_hours",
            N_("%(hours).1f active card-hours are known; a verdict needs %(least).0f."),
            {"hours": evidence.active_hours or 0.0, "least": settings.min_active_hours},
        )
    return None


def _bandwidth(
    evidence: Evidence, settings: Settings, confidence: Confidence, standing: bool
) -> Finding:
    kind = "BW_LOW_30"
    lacking = too_little(evidence, settings)
    if lacking or evidence.share is None or confidence == "none":
        reason = lacking or Reason("no_share", N_("No bandwidth share was measured."))
        return Finding(kind, "undetermined", "none", reason)
    figures = {"share": 100 * evidence.share, "limit": 100 * settings.enter}
    if evidence.share < settings.enter:
        text = N_("Bandwidth share %(share).1f %% on active time, under %(limit).0f %%.")
        if evidence.fidelity == "duty_bound":
            text = N_(
                "At most %(share).1f %% of bandwidth (time share, upper bound), "
                "under %(limit).0f %%."
            )
        return Finding(kind, "yes", confidence, Reason("low", text, figures))
    if evidence.fidelity == "duty_bound":
        text = N_(
            "%(share).1f %% is a share of time: an upper bound over %(limit).0f %% proves nothing."
        )
        return Finding(kind, "undetermined", "none", Reason("upper_bound", text, figures))
    if standing and evidence.share < settings.leave:
        figures = {"share": 100 * evidence.share, "leave": 100 * settings.leave}
        text = N_("Bandwidth share %(share).1f %%: a standing flag stays until %(leave).0f %%.")
        return Finding(kind, "stay", confidence, Reason("hysteresis", text, figures))
    text = N_("Bandwidth share %(share).1f %% on active time, not under %(limit).0f %%.")
    return Finding(kind, "no", confidence, Reason("not_low", text, figures))


def _idle(evidence: Evidence, settings: Settings) -> Finding:
    kind = "IDLE"
    if evidence.held_hours < settings.idle_hours:
        text = N_("Rented for less than %(least).0f hours.")
        return Finding(
            kind,
            "not_applicable",
            "none",
            Reason("too_short", text, {"least": settings.idle_hours}),
        )
    if (
        evidence.recent_active_share is None
        or (evidence.recent_coverage or 0) < settings.min_coverage
    ):
        text = N_("Less than %(least).0f %% of the last %(hours).0f hours is known.")
        values = {"least": 100 * settings.min_coverage, "hours": settings.idle_hours}
        return Finding(kind, "undetermined", "none", Reason("coverage", text, values))
    if (
        not evidence.committed
        and too_little(evidence, settings) is None
        and evidence.active_share is not None
        and evidence.active_share < settings.idle_paid
    ):
        told = N_("Paid by the hour and active %(active).0f %% of the time.")
        share = {"active": 100 * evidence.active_share}
        return Finding(kind, "yes", "high", Reason("between", told, share))
    values = {"active": 100 * evidence.recent_active_share, "hours": settings.idle_hours}
    text = N_("Active %(active).1f %% of the last %(hours).0f hours.")
    idle = evidence.recent_active_share < settings.idle_active
    return Finding(kind, "yes" if idle else "no", "high", Reason("active", text, values))


_ROWS = {
    3: "FIX_INPUT",
    4: "LINK_BOUND",
    9: "UPGRADE_BANDWIDTH",
    14: "FAULT",
}
_DOWNGRADE = {7, 11, 12, 13}
EXEMPT = {
    3: N_("the data input starves the cards"),
    4: N_("links or network limit the job"),
    5: N_("workers wait for each other"),
    6: N_("arithmetic limits the job"),
    8: N_("the memory is needed"),
    9: N_("bandwidth limits the job"),
    10: N_("elementwise work fills the cards"),
    14: N_("the hardware is faulty"),
    15: N_("the cause is not clear"),
}


def _diagnosed(evidence: Evidence, settings: Settings, confidence: Confidence) -> list[Finding]:
    lacking = too_little(evidence, settings)
    kinds = [*_ROWS.values(), "DOWNGRADE_CANDIDATE"]
    faulty = evidence.row == 14
    if (lacking and not faulty) or evidence.row is None or evidence.row == 1:
        reason = lacking or Reason("no_row", N_("The diagnosis has no verdict."))
        return [Finding(kind, "undetermined", "none", reason) for kind in kinds]
    if evidence.row == 2:
        reason = Reason("idle", N_("Idle cards are to be released, not changed."))
        return [Finding(kind, "not_applicable", "none", reason) for kind in kinds]
    found = [
        Finding(
            kind,
            "yes" if evidence.row == row else "no",
            confidence if row != 14 else "high",
            Reason("row", N_("Row %(row)d of the decision table matched."), {"row": evidence.row}),
        )
        for row, kind in _ROWS.items()
    ]
    return [*found, _downgrade(evidence, settings, confidence)]


def _downgrade(evidence: Evidence, settings: Settings, confidence: Confidence) -> Finding:
    kind = "DOWNGRADE_CANDIDATE"
    low = _bandwidth(evidence, settings, confidence, False)
    if low.answer != "yes":
        return Finding(
            kind, "no" if low.answer == "no" else "undetermined", low.confidence, low.reason
        )
    assert evidence.share is not None
    figures: dict[str, object] = {"share": 100 * evidence.share, "row": evidence.row or 0}
    if evidence.row not in _DOWNGRADE:
        blocking = EXEMPT.get(evidence.row or 15, EXEMPT[15])
        text = N_("Bandwidth %(share).0f %% is low, but row %(row)d exempts: no downgrade.")
        return Finding(
            kind,
            "no",
            confidence,
            Reason(f"exempt:{evidence.row}", text, {**figures, "why": blocking}),
        )
    if evidence.serving and (evidence.share_p95 is None or evidence.share_p95 >= settings.enter):
        text = N_("A service is sized on its 95th percentile, which is not under 30 %.")
        return Finding(kind, "no", confidence, Reason("peak", text))
    if not evidence.what_if:
        text = N_("No cheaper package passes the what-if.")
        return Finding(kind, "no", confidence, Reason("what_if", text))
    text = N_("Bandwidth %(share).0f %%, row %(row)d, and a cheaper package passes the what-if.")
    return Finding(kind, "yes", confidence, Reason("candidate", text, figures))


def _mixed(evidence: Evidence, settings: Settings) -> Finding:
    kind = "MIXED_CARDS"
    if len(evidence.models) < 2:
        return Finding(
            kind, "not_applicable", "none", Reason("one_model", N_("All cards are of one model."))
        )
    if evidence.slowest_ratio is None:
        return Finding(
            kind,
            "undetermined",
            "none",
            Reason("no_spec", N_("The bandwidth of a card model is not known.")),
        )
    mixed = evidence.slowest_ratio >= settings.mixed_ratio
    text = N_("%(models)s work together; the fastest has %(ratio).1f times the bandwidth.")
    values = {"models": ", ".join(evidence.models), "ratio": evidence.slowest_ratio}
    return Finding(kind, "yes" if mixed else "no", "high", Reason("models", text, values))


def _below_spec(evidence: Evidence, settings: Settings, confidence: Confidence) -> Finding:
    """Busy cards that bandwidth limits and that still never come near what was rented."""
    kind = "BELOW_SPEC"
    if evidence.fidelity != "dram_bw":
        return Finding(
            kind,
            "undetermined",
            "none",
            Reason("source", N_("Only measured bandwidth can be held to the data sheet.")),
        )
    lacking = too_little(evidence, settings)
    if lacking or evidence.share_max is None:
        reason = lacking or Reason("no_share", N_("No bandwidth share was measured."))
        return Finding(kind, "undetermined", "none", reason)
    if evidence.row != 9:
        return Finding(
            kind,
            "not_applicable",
            "none",
            Reason("not_bound", N_("Bandwidth does not limit these cards.")),
        )
    limit = settings.below_spec * settings.ceiling
    values = {"peak": 100 * evidence.share_max, "limit": 100 * limit}
    text = N_("Best minute %(peak).0f %% of the specification; %(limit).0f %% is to be expected.")
    low = evidence.share_max < limit
    return Finding(kind, "yes" if low else "no", confidence, Reason("peak", text, values))


def _contract(evidence: Evidence, settings: Settings) -> Finding:
    kind = "CONTRACT_MISMATCH"
    if evidence.break_even_hours is None:
        return Finding(
            kind,
            "not_applicable",
            "none",
            Reason("no_other", N_("The vendor offers no other term for this card.")),
        )
    if evidence.hours_per_month is None:
        return Finding(
            kind,
            "undetermined",
            "none",
            Reason("hours", N_("The hours used per month are not known.")),
        )
    values = {"hours": round(evidence.hours_per_month), "limit": round(evidence.break_even_hours)}
    margin = Decimal(str(settings.contract_margin))
    if evidence.committed:
        off = evidence.hours_per_month < evidence.break_even_hours * (1 - margin)
        text = N_("%(hours)d hours a month are used; a commitment pays from %(limit)d.")
    else:
        off = evidence.hours_per_month > evidence.break_even_hours * (1 + margin)
        text = N_("%(hours)d hours a month are used; a commitment would pay from %(limit)d.")
    return Finding(kind, "yes" if off else "no", "high", Reason("hours", text, values))


State = Literal["none", "watching", "open", "snoozed", "cooling"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a kind stands for a rental: nights in a row, since when, until when it rests."""

    state: State = "none"
    streak: int = 0
    since: date | None = None
    until: date | None = None

    @property
    def stands(self) -> bool:
        return self.state in ("open", "snoozed")


Event = Literal["opened", "closed", "returned", ""]


def step(
    standing: Standing, finding: Finding, day: date, settings: Settings
) -> tuple[Standing, Event]:
    """Move a standing by one night. Undetermined nights neither count nor reset; a `no` (or not
    applicable) closes; a decision's cool-down ends by date only."""
    if standing.state == "cooling":
        if standing.until is not None and day < standing.until:
            return standing, ""
        standing = Standing()
    yes = finding.answer in ("yes", "stay")
    if standing.state == "snoozed":
        if standing.until is not None and day < standing.until:
            return standing, ""
        return (
            (Standing("open", standing.streak, standing.since), "returned")
            if (yes or finding.answer == "undetermined")
            else (Standing(), "closed")
        )
    if finding.answer == "undetermined":
        return standing, ""
    if not yes:
        return Standing(), "closed" if standing.state == "open" else ""
    if standing.state == "open":
        return Standing("open", standing.streak + 1, standing.since), ""
    if finding.answer == "stay":
        return standing, ""
    streak = standing.streak + 1
    since = standing.since or day
    if streak >= settings.consecutive:
        return Standing("open", streak, since), "opened"
    return Standing("watching", streak, since), ""


def decided(day: date, settings: Settings) -> Standing:
    """After accept or dismiss: nothing of this kind opens until the cool-down is over."""
    return Standing("cooling", 0, day, day + timedelta(days=settings.cooldown_days))


def snoozed(standing: Standing, until: date) -> Standing:
    """Put off until a date; it returns then if it still holds."""
    return Standing("snoozed", standing.streak, standing.since, until)


def capped_saving(saving: Decimal | None, own_cost: Decimal) -> Decimal | None:
    """A promise is never above what the rental itself cost in the window, nor below nothing."""
    if saving is None:
        return None
    return max(Decimal(0), min(saving, own_cost))


@dataclass(frozen=True, slots=True)
class Scores:
    """The plain rule against the diagnosis over many rentals."""

    rule_says: int = 0
    confirmed: int = 0
    repair: int = 0
    kept: int = 0
    unjudged: int = 0
    missed: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)


def score(pairs: list[tuple[bool | None, str]]) -> Scores:
    """`pairs` of the plain rule's flag and the diagnosed outcome: downgrade, idle, repair, keep
    or unknown. `missed`: idle or fixable rentals of which the rule says nothing."""
    said = [outcome for flag, outcome in pairs if flag]
    counts = {o: said.count(o) for o in ("downgrade", "idle", "repair", "keep", "unknown")}
    return Scores(
        rule_says=len(said),
        confirmed=counts["downgrade"],
        repair=counts["repair"] + counts["idle"],
        kept=counts["keep"],
        unjudged=counts["unknown"],
        missed=sum(1 for flag, outcome in pairs if not flag and outcome in ("idle", "repair")),
        kinds=counts,
    )
