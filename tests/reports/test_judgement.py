"""Flags: the cases that hurt, the edges of the thresholds, and how a standing moves."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal as D

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.kernel.reasons import Reason
from governance.reports.domain.judgement import (
    KINDS,
    Evidence,
    Finding,
    Settings,
    Standing,
    capped_saving,
    decided,
    findings,
    plain_rule,
    score,
    snoozed,
    step,
)

SETTINGS = Settings()
DAY = date(2026, 11, 16)
REST = Standing()
SEEN = Evidence(
    days=14,
    held_hours=336,
    coverage=0.98,
    active_hours=300,
    fidelity="dram_bw",
    share=0.163,
    share_max=0.6,
    recent_active_share=0.9,
    recent_coverage=1.0,
    row=12,
    what_if=True,
)


def answers(evidence: Evidence, **standing: bool) -> dict[str, str]:
    return {f.kind: f.answer for f in findings(evidence, SETTINGS, standing)}


def test_over_provisioned_is_a_candidate() -> None:
    found = answers(SEEN)
    assert set(found) == set(KINDS)
    assert found["BW_LOW_30"] == found["DOWNGRADE_CANDIDATE"] == "yes"
    assert found["IDLE"] == found["FIX_INPUT"] == "no"


@pytest.mark.parametrize("row", [3, 4, 5, 6, 8, 15])
def test_low_bandwidth_alone_never_downgrades(row: int) -> None:
    found = answers(replace(SEEN, row=row))
    assert found["BW_LOW_30"] == "yes"
    assert found["DOWNGRADE_CANDIDATE"] == "no"


def test_the_repair_is_named() -> None:
    assert answers(replace(SEEN, row=3))["FIX_INPUT"] == "yes"
    assert answers(replace(SEEN, row=4))["LINK_BOUND"] == "yes"


def test_without_a_cheaper_package_no_candidate() -> None:
    assert answers(replace(SEEN, what_if=False))["DOWNGRADE_CANDIDATE"] == "no"


def test_a_service_is_sized_on_its_peak() -> None:
    busy = replace(SEEN, serving=True, row=13, share_p95=0.5)
    assert answers(busy)["DOWNGRADE_CANDIDATE"] == "no"
    assert answers(replace(busy, share_p95=0.29))["DOWNGRADE_CANDIDATE"] == "yes"


def test_idle_is_released_not_downgraded() -> None:
    found = answers(replace(SEEN, row=2, recent_active_share=0.01))
    assert found["IDLE"] == "yes"
    assert found["DOWNGRADE_CANDIDATE"] == "not_applicable"


def test_idle_that_the_rule_does_not_see() -> None:
    evidence = replace(SEEN, share=0.412, recent_active_share=0.02)
    assert plain_rule(evidence.share, SETTINGS) is False
    assert answers(evidence)["IDLE"] == "yes"


@pytest.mark.parametrize(
    ("committed", "active", "found"),
    [(False, 0.47, "yes"), (False, 0.5, "no"), (True, 0.47, "no")],
)
def test_paid_by_the_hour_and_idle_in_between(committed: bool, active: float, found: str) -> None:
    evidence = replace(SEEN, committed=committed, active_share=active, share=0.412)
    assert answers(evidence)["IDLE"] == found


@pytest.mark.parametrize(("share", "found"), [(0.299, "yes"), (0.30, "no")])
def test_the_edge_of_thirty_percent(share: float, found: str) -> None:
    assert answers(replace(SEEN, share=share))["BW_LOW_30"] == found


@pytest.mark.parametrize(("share", "found"), [(0.35, "stay"), (0.399, "stay"), (0.40, "no")])
def test_a_standing_flag_stays_until_forty(share: float, found: str) -> None:
    assert answers(replace(SEEN, share=share), BW_LOW_30=True)["BW_LOW_30"] == found


@pytest.mark.parametrize(
    "lack",
    [
        {"days": 6.9},
        {"coverage": 0.61},
        {"coverage": None},
        {"active_hours": 23.0},
        {"share": None},
    ],
)
def test_too_little_is_undetermined(lack: dict[str, float | None]) -> None:
    found = answers(replace(SEEN, **lack))  # type: ignore[arg-type]
    assert found["BW_LOW_30"] == found["DOWNGRADE_CANDIDATE"] == "undetermined"
    assert found["IDLE"] == "no"  # has a window of its own


def test_a_duty_cycle_flags_but_never_clears() -> None:
    duty = replace(SEEN, fidelity="duty_bound", share=0.12)
    low = {f.kind: f for f in findings(duty, SETTINGS, {})}["BW_LOW_30"]
    assert (low.answer, low.confidence) == ("yes", "medium")
    assert answers(replace(duty, share=0.45))["BW_LOW_30"] == "undetermined"
    assert answers(replace(duty, share=0.45), BW_LOW_30=True)["BW_LOW_30"] == "undetermined"


def test_an_unknown_source_never_flags() -> None:
    assert answers(replace(SEEN, fidelity="unknown"))["BW_LOW_30"] == "undetermined"


def test_a_fault_needs_no_lookback() -> None:
    assert answers(replace(SEEN, days=1, row=14))["FAULT"] == "yes"


def test_below_specification() -> None:
    bound = replace(SEEN, row=9, share=0.55, share_max=0.4)
    assert answers(bound)["BELOW_SPEC"] == "yes"
    assert answers(replace(bound, share_max=0.75))["BELOW_SPEC"] == "no"
    assert answers(SEEN)["BELOW_SPEC"] == "not_applicable"


def test_mixed_cards() -> None:
    pair = replace(SEEN, models=("RTX 4090", "A800"), slowest_ratio=2.0)
    assert answers(pair)["MIXED_CARDS"] == "yes"
    assert answers(SEEN)["MIXED_CARDS"] == "not_applicable"


@pytest.mark.parametrize(
    ("committed", "hours", "found"),
    [(True, 400, "yes"), (True, 500, "no"), (False, 633, "yes"), (False, 550, "no")],
)
def test_contract_against_use(committed: bool, hours: int, found: str) -> None:
    evidence = replace(SEEN, committed=committed, hours_per_month=D(hours), break_even_hours=D(540))
    assert answers(evidence)["CONTRACT_MISMATCH"] == found


def finding(answer: str) -> Finding:
    return Finding("IDLE", answer, "high", Reason("x", "x"))  # type: ignore[arg-type]


def walk(nights: str, standing: Standing = REST) -> tuple[Standing, list[str]]:
    words = {"y": "yes", "n": "no", "u": "undetermined", "s": "stay", "-": "not_applicable"}
    events, day = [], DAY
    for night in nights:
        standing, event = step(standing, finding(words[night]), day, SETTINGS)
        events.append(event)
        day += timedelta(days=1)
    return standing, events


def test_three_nights_in_a_row_open() -> None:
    standing, events = walk("yyy")
    assert events == ["", "", "opened"]
    assert (standing.state, standing.since) == ("open", DAY)


def test_a_no_starts_over_an_unknown_night_does_not() -> None:
    assert walk("yyny")[0].streak == 1
    assert walk("yuuyuy")[1][-1] == "opened"


def test_flapping_opens_nothing() -> None:
    assert set(walk("ynynynyn")[1]) == {""}


def test_stay_keeps_open_but_never_opens() -> None:
    assert set(walk("ssss")[1]) == {""}
    assert walk("yyyssss")[0].state == "open"


def test_a_decision_rests() -> None:
    standing = decided(DAY, SETTINGS)
    again, events = walk("y" * 14, standing)
    assert events == [""] * 14
    assert again.state == "cooling"
    assert walk("y" * 17, standing)[1][-1] == "opened"


def test_a_snooze_returns_if_it_still_holds() -> None:
    put_off = snoozed(Standing("open", 3, DAY), DAY + timedelta(days=2))
    assert walk("nny", put_off)[1] == ["", "", "returned"]
    assert walk("nnn", put_off)[1] == ["", "", "closed"]


@given(st.text("ynus-", max_size=30))
def test_only_three_yes_between_noes_open(nights: str) -> None:
    _, events = walk(nights)
    opens = [i for i, event in enumerate(events) if event == "opened"]
    for i in opens:
        seen = nights[: i + 1].replace("u", "").replace("s", "")
        assert seen.endswith("yyy")
    closes = events.count("closed")
    assert closes in (len(opens), len(opens) - 1)


def test_a_promise_is_never_above_the_own_cost() -> None:
    """A job of 0.24 a day for 30 days cannot save 371.85."""
    assert capped_saving(D("371.85"), D("7.20")) == D("7.20")
    assert capped_saving(None, D("7.20")) is None


def test_the_rule_against_the_diagnosis() -> None:
    pairs = [
        (True, "downgrade"),
        (False, "idle"),
        (True, "repair"),
        (True, "repair"),
        (True, "keep"),
        (True, "unknown"),
        (False, "keep"),
    ]
    found = score(pairs)
    assert (found.rule_says, found.confirmed, found.repair) == (5, 1, 2)
    assert (found.kept, found.unjudged, found.missed) == (1, 1, 1)
