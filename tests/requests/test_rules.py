"""Plain rules: chains, working time, checklists, files. And the life cycle as a state machine."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from governance.accounts.domain.roles import every_ability
from governance.kernel.errors import Invalid, Refused
from governance.requests.domain import approval, bulk, checklist, working_time
from governance.requests.domain.lifecycle import HOLDING, REQUEST, STATES

SHANGHAI = ZoneInfo("Asia/Shanghai")
POLICY = approval.read_policy(approval.DEFAULT, every_ability())


def facts(**changes: Any) -> approval.Facts:
    usual: dict[str, Any] = {
        "amount": Decimal(100),
        "term": "hourly",
        "card": "h100-sxm",
        "team": "vision",
        "budget_state": "within",
        "business_type": "fine_tuning",
    }
    return approval.Facts(**{**usual, **changes})


def one(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "ability": "requests.approve", **changes}


def abilities(found: tuple[approval.Step, ...]) -> list[str]:
    return [step.ability for step in found]


class TestChain:
    @pytest.mark.parametrize(
        ("changes", "finance"),
        [
            ({}, False),
            ({"amount": Decimal("49999.99")}, False),
            ({"amount": Decimal(50000)}, True),
            ({"term": "annual"}, True),
            ({"term": "monthly"}, False),
            ({"budget_state": "tight"}, True),
            ({"amount": None}, True),
        ],
    )
    def test_of_the_first_policy(self, changes: dict[str, Any], finance: bool) -> None:
        wanted = ["requests.approve"] + ["requests.approve_finance"] * finance
        assert abilities(approval.chain(POLICY, facts(**changes))) == wanted

    def test_rules_of_one_ability_are_one_step_with_the_largest_count(self) -> None:
        rules = [
            {"name": "all", "ability": "requests.approve"},
            {"name": "big", "when": {"amount_from": 10}, "ability": "requests.approve", "count": 2},
        ]
        policy = approval.read_policy({"rules": rules}, every_ability())
        [step] = approval.chain(policy, facts())
        assert (step.count, step.because) == (2, ("all", "big"))

    @given(
        st.decimals(0, 10**7, places=2),
        st.decimals(0, 10**7, places=2),
        st.sampled_from(["hourly", "monthly", "annual"]),
    )
    def test_more_money_never_asks_for_fewer(self, a: Decimal, b: Decimal, term: str) -> None:
        low, high = sorted((a, b))
        few = approval.chain(POLICY, facts(amount=low, term=term))
        many = approval.chain(POLICY, facts(amount=high, term=term))
        assert set(abilities(few)) <= set(abilities(many))

    def test_goes_up_until_somebody_else_is_there(self) -> None:
        ladder = ["a", "b", "c"]
        assert approval.raised(ladder, "a", {"a": True}) == "a"
        assert approval.raised(ladder, "a", {"c": True}) == "c"
        assert approval.raised(ladder, "b", {"a": True}) is None

    @pytest.mark.parametrize(
        ("data", "field"),
        [
            ([], "policy"),
            ({}, "rules"),
            ({"rules": []}, "rules"),
            ({"rules": [one(when={"terms": ["annual"]})]}, "rules"),
            ({"rules": [one(ability="fly")]}, "rules[0].ability"),
            ({"rules": [one(ability="see.all")]}, "rules[0].ability"),
            ({"rules": [one(name="")]}, "rules[0].name"),
            ({"rules": [one(count=0)]}, "rules[0].count"),
            ({"rules": [one(when={"mood": 1})]}, "rules[0].when.mood"),
            ({"rules": [one(when={"amount_from": "much"})]}, "rules[0].when.amount_from"),
            ({"rules": [one(when={"terms": "annual"})]}, "rules[0].when.terms"),
            ({"rules": [one(when={"budget_states": ["x"]})]}, "rules[0].when.budget_states"),
            ({"rules": [one(when=3)]}, "rules[0].when"),
            ({"rules": ["one"]}, "rules[0]"),
            ({"rules": [one()], "colour": 1}, "colour"),
            ({"rules": [one()], "ladder": ["fly"]}, "ladder"),
            ({"rules": [one()], "expire_days": 0}, "expire_days"),
        ],
    )
    def test_a_wrong_policy_names_its_place(self, data: Any, field: str) -> None:
        with pytest.raises(Invalid) as refusal:
            approval.read_policy(data, every_ability())
        assert refusal.value.field == field


class TestWorkingTime:
    """2026-10-01 is a public holiday; 2026-10-10, a Saturday, makes up for it."""

    days = {date(2026, 10, d): False for d in range(1, 8)} | {date(2026, 10, 10): True}

    def at(self, day: int, hour: int, month: int = 10) -> datetime:
        return datetime(2026, month, day, hour, tzinfo=SHANGHAI)

    @pytest.mark.parametrize(
        ("start", "hours", "end"),
        [
            ((30, 17, 9), 2, (8, 10, 10)),
            ((9, 17, 10), 2, (10, 10, 10)),
            ((10, 17, 10), 2, (12, 10, 10)),
            ((11, 12, 10), 9, (12, 18, 10)),
            ((12, 3, 10), 1, (12, 10, 10)),
            ((12, 20, 10), 0, (13, 9, 10)),
        ],
    )
    def test_counts_open_hours(
        self, start: tuple[int, int, int], hours: float, end: tuple[int, int, int]
    ) -> None:
        found = working_time.after_hours(self.at(*start), hours, SHANGHAI, self.days)
        assert found == self.at(*end)

    @given(
        st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),
        st.floats(0, 80),
    )
    def test_is_the_inverse_of_counting(self, start: datetime, hours: float) -> None:
        moment = start.replace(tzinfo=UTC)
        end = working_time.after_hours(moment, hours, SHANGHAI, self.days)
        counted = working_time.working_hours_between(moment, end, SHANGHAI, self.days)
        assert counted == pytest.approx(hours, abs=1e-6)

    def test_a_calendar_without_workdays_says_so(self) -> None:
        start = self.at(1, 1)
        closed = {(start + timedelta(days=n)).date(): False for n in range(500)}
        with pytest.raises(ValueError, match="no working day"):
            working_time.after_hours(start, 1, SHANGHAI, closed)


def test_checklist_takes_the_form_before_what_was_typed() -> None:
    found = checklist.lines("serving", {"line": "cn-east"}, {"line": "typed", "filing": " "})
    by_key = {line.item.key: line for line in found}
    assert by_key["line"].answer == "cn-east"
    assert by_key["filing"].blocks
    assert not by_key["trial"].blocks
    assert by_key["trial"].open


class TestFile:
    HEAD = "project,business_type,starts_at,method,samples\n"

    @pytest.mark.parametrize(
        ("text", "field"),
        [
            ("", "file"),
            ("project\nx\n", "business_type"),
            ("project,business_type,starts_at,colour\na,b,c,d\n", "colour"),
            ("project,project,business_type,starts_at\na,b,c,d\n", "project"),
            (HEAD + "a,b\n", "2:file"),
            (HEAD + 'a,"b,c\n', "2:file"),
        ],
    )
    def test_a_wrong_file_names_its_place(self, text: str, field: str) -> None:
        with pytest.raises(Invalid) as refusal:
            bulk.read_rows(text.encode())
        assert refusal.value.field is not None
        assert refusal.value.field.endswith(field.split(":")[-1])

    def test_not_utf8(self) -> None:
        with pytest.raises(Invalid, match="UTF-8"):
            bulk.read_rows("项目".encode("gbk"))

    def test_lines_are_numbered_as_an_editor_does(self) -> None:
        [row] = bulk.read_rows((self.HEAD + "\n\np,fine_tuning,2026-12-01,lora,5\n").encode())
        assert row[""] == "4"
        assert bulk.spec_of(row) == {"method": "lora", "samples": "5"}


class Life(RuleBasedStateMachine):
    """Any acts in any order: the table alone decides, and money follows the state."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self.held = "draft", False

    @rule(act=st.sampled_from(sorted({t.act for t in REQUEST.transitions})))
    def do(self, act: str) -> None:
        known = REQUEST.find(self.state, act)
        if known is None:
            with pytest.raises(Refused):
                REQUEST.next(self.state, act)
            return
        before, self.state = self.state, REQUEST.next(self.state, act)
        assert self.state == known.target
        if act == "approve":
            self.held = True
        if before in HOLDING and self.state not in HOLDING:
            self.held = False

    @invariant()
    def known_state(self) -> None:
        assert self.state in STATES

    @invariant()
    def money_is_held_exactly_while_something_may_be_spent(self) -> None:
        assert self.held == (self.state in HOLDING)

    @invariant()
    def what_is_over_stays_over(self) -> None:
        if self.state in {"refused", "withdrawn", "completed", "expired"}:
            assert REQUEST.acts_from(self.state) == ()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)


def test_every_state_is_reached_and_named() -> None:
    reached, todo = {"draft"}, ["draft"]
    while todo:
        state = todo.pop()
        for t in REQUEST.transitions:
            if t.source == state and t.target not in reached:
                reached.add(t.target)
                todo.append(t.target)
    assert reached == set(STATES) == set(REQUEST.states)


def test_the_diagram_in_the_docs_is_the_table(pytestconfig: pytest.Config) -> None:
    kept = (pytestconfig.rootpath / "docs" / "request-lifecycle.md").read_text(encoding="utf-8")
    assert REQUEST.mermaid() in kept
