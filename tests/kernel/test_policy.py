from __future__ import annotations

import pytest

from governance.kernel.errors import Denied, Refused
from governance.kernel.lifecycle import Lifecycle, Transition
from governance.kernel.policy import SYSTEM, can, grants, known_acts, require, rule
from governance.kernel.reasons import Reason


class Person:
    actor_key, display = "user:1", "Alice"

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        return frozenset({"door.open"} if team_id == 7 else ())


@rule("test.open_door")
def _open(actor: Person, thing: object) -> object:
    return grants(actor, "door.open", thing)  # type: ignore[arg-type]


def test_ability_holds_in_its_team_only() -> None:
    assert can(Person(), "test.open_door", 7)
    assert not can(Person(), "test.open_door", 8)
    assert not can(Person(), "test.open_door")


def test_denied_carries_a_reason_that_names_the_right() -> None:
    with pytest.raises(Denied, match=r"door\.open"):
        require(Person(), "test.open_door", 8)


def test_system_may_everything_and_unknown_acts_are_errors() -> None:
    assert can(SYSTEM, "test.open_door")
    assert "test.open_door" in known_acts()
    with pytest.raises(KeyError):
        can(Person(), "test.no_such_act")


def test_two_rules_for_one_act_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"test\.open_door"):
        rule("test.open_door")(_open)


DOOR = Lifecycle(
    "door", [Transition("open", "close", "shut"), Transition("shut", "lock", "locked")]
)


def test_lifecycle_follows_its_table() -> None:
    assert DOOR.next("open", "close") == "shut"
    assert DOOR.states == ("open", "shut", "locked")
    assert DOOR.acts_from("shut") == ("lock",)
    assert "open --> shut: close" in DOOR.mermaid()


def test_lifecycle_refuses_what_is_not_in_the_table() -> None:
    with pytest.raises(Refused, match="locked"):
        DOOR.next("locked", "close")
    with pytest.raises(ValueError, match="twice"):
        Lifecycle("bad", [Transition("a", "x", "b"), Transition("a", "x", "c")])


def test_reason_translates_before_it_fills_in() -> None:
    reason = Reason("x", "%(n)s cards", {"n": 3})
    assert str(reason) == "3 cards"
    assert reason.render({"%(n)s cards": "%(n)s 张卡"}.__getitem__) == "3 张卡"
