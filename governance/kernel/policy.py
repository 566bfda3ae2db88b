"""One policy function for pages, API, bulk acts, exports and tasks: may this actor do this act?

Rooms register one rule per act with `@rule("requests.approve")`; everybody asks `can`.
The answer carries the reason that a disabled button, a 403 body and the audit trail show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from governance.kernel.errors import Denied
from governance.kernel.reasons import N_, Reason


class Actor(Protocol):
    """Whoever acts: a person, a service token, or the system itself."""

    @property
    def actor_key(self) -> str: ...

    @property
    def display(self) -> str: ...

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        """Abilities that hold everywhere, plus those in the team when one is given."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """Allowed, or not with a reason. Truthy when allowed."""

    allowed: bool
    reason: Reason | None = None

    def __bool__(self) -> bool:
        return self.allowed


ALLOWED = Decision(True)
Rule = Callable[[Actor, object], Decision]
_rules: dict[str, Rule] = {}


def denied(reason: Reason) -> Decision:
    """A refusal with its reason."""
    return Decision(False, reason)


def lacks(ability: str) -> Decision:
    """The refusal of an actor whose roles do not grant the ability."""
    return denied(
        Reason(
            "role", N_("Your roles do not include this right (%(ability)s)."), {"ability": ability}
        )
    )


def grants(actor: Actor, ability: str, team_id: int | None = None) -> Decision:
    """Allowed when the actor's roles grant the ability, in the team when one is given."""
    return ALLOWED if ability in actor.abilities(team_id) else lacks(ability)


def rule(act: str) -> Callable[[Rule], Rule]:
    """Register the rule of an act; each act has exactly one."""

    def register(function: Rule) -> Rule:
        if act in _rules:
            raise RuntimeError(f"two rules for {act}")
        _rules[act] = function
        return function

    return register


def can(actor: Actor, act: str, thing: object = None) -> Decision:
    """Ask the rule of the act. An act without a rule is a programming error, not a refusal."""
    if actor is SYSTEM:
        return ALLOWED
    return _rules[act](actor, thing)


def require(actor: Actor, act: str, thing: object = None) -> None:
    """Raise Denied with the rule's reason unless the actor may."""
    decision = can(actor, act, thing)
    if not decision:
        assert decision.reason is not None
        raise Denied(decision.reason)


def known_acts() -> frozenset[str]:
    """Every act that has a rule."""
    return frozenset(_rules)


class _System:
    """The platform's own tasks; allowed everything, named in the audit trail."""

    actor_key = "system"
    display = "system"

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        return frozenset()


SYSTEM = _System()
