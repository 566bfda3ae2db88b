"""Who must sign: an approval policy is data, and a chain is what it says about one request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason

CONDITIONS = (
    "amount_from",
    "amount_below",
    "terms",
    "cards",
    "teams",
    "budget_states",
    "business_types",
    "kinds",
)
BUDGET_STATES = ("within", "tight", "over", "unknown")
DEFAULT: dict[str, Any] = {
    "currency": "CNY",
    "ladder": ["requests.approve", "requests.approve_finance", "policies.manage"],
    "answer_hours": 8,
    "escalate_hours": 24,
    "expire_days": 14,
    "rules": [
        {"name": N_("every request"), "when": {}, "ability": "requests.approve", "count": 1},
        {
            "name": N_("large amount"),
            "when": {"amount_from": "50000"},
            "ability": "requests.approve_finance",
            "count": 1,
        },
        {
            "name": N_("annual contract"),
            "when": {"terms": ["annual"]},
            "ability": "requests.approve_finance",
            "count": 1,
        },
        {
            "name": N_("budget nearly used"),
            "when": {"budget_states": ["tight"]},
            "ability": "requests.approve_finance",
            "count": 1,
        },
    ],
}
"""The policy of a fresh installation: one approver; finance too from 50,000 CNY, for annual
contracts and where the budget would be over 90 % used."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rules look at. `amount` None: not known in the policy's currency."""

    amount: Decimal | None
    term: str
    card: str
    team: str
    budget_state: str
    business_type: str
    kind: str = "new"


@dataclass(frozen=True, slots=True)
class Rule:
    """When all conditions hold, `count` different holders of `ability` sign."""

    name: str
    when: Mapping[str, Any]
    ability: str
    count: int = 1

    def holds(self, facts: Facts) -> bool:
        """An amount that is not known meets every lower bound: doubt asks for more signatures."""
        when = self.when
        if facts.amount is not None:
            if "amount_from" in when and facts.amount < Decimal(str(when["amount_from"])):
                return False
            if "amount_below" in when and facts.amount >= Decimal(str(when["amount_below"])):
                return False
        pairs = (
            ("terms", facts.term),
            ("cards", facts.card),
            ("teams", facts.team),
            ("budget_states", facts.budget_state),
            ("business_types", facts.business_type),
            ("kinds", facts.kind),
        )
        return all(value in when[name] for name, value in pairs if name in when)


@dataclass(frozen=True, slots=True)
class Policy:
    """A version of the approval policy."""

    currency: str
    ladder: tuple[str, ...]
    answer_hours: int
    escalate_hours: int
    expire_days: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One station of a chain: `count` different people with the ability; `because` names rules."""

    position: int
    ability: str
    count: int
    because: tuple[str, ...]


def read_policy(data: object, abilities: Collection[str]) -> Policy:
    """The policy in `data`. Invalid names the place and what would be right there.

    `abilities` are those that roles can grant; a step that nobody could ever sign is refused.
    """
    if not isinstance(data, Mapping):
        raise _wrong("policy", N_("a policy is an object with the field “rules”"))
    unknown = sorted(set(data) - set(DEFAULT))
    if unknown:
        raise _wrong(unknown[0], N_("this field is not known"))
    ladder = tuple(data.get("ladder", DEFAULT["ladder"]))
    for ability in ladder:
        _ability(ability, abilities, "ladder")
    numbers = {
        name: _whole(data.get(name, DEFAULT[name]), name)
        for name in ("answer_hours", "escalate_hours", "expire_days")
    }
    raw = data.get("rules")
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
        raise _wrong("rules", N_("at least one rule is needed"))
    rules = tuple(_rule(item, n, abilities, ladder) for n, item in enumerate(raw))
    if not any(not rule.when for rule in rules):
        raise _wrong("rules", N_("one rule without conditions is needed, so that someone signs"))
    return Policy(str(data.get("currency", "CNY")), ladder, rules=rules, **numbers)


def _rule(item: object, n: int, abilities: Collection[str], ladder: Sequence[str]) -> Rule:
    where = f"rules[{n}]"
    if not isinstance(item, Mapping):
        raise _wrong(where, N_("a rule is an object with name, when, ability and count"))
    when = item.get("when", {})
    if not isinstance(when, Mapping):
        raise _wrong(f"{where}.when", N_("conditions are an object"))
    for name, value in when.items():
        _condition(name, value, f"{where}.when.{name}")
    ability = str(item.get("ability", ""))
    _ability(ability, abilities, f"{where}.ability")
    if ability not in ladder:
        raise _wrong(f"{where}.ability", N_("the ability must stand on the ladder"))
    name = str(item.get("name", "")).strip()
    if not name:
        raise _wrong(f"{where}.name", N_("a rule needs a name that approvers will read"))
    return Rule(name, dict(when), ability, _whole(item.get("count", 1), f"{where}.count"))


def _condition(name: str, value: object, where: str) -> None:
    if name not in CONDITIONS:
        raise _wrong(where, N_("this condition is not known"))
    if name.startswith("amount_"):
        try:
            if Decimal(str(value)) >= 0:
                return
        except ArithmeticError:
            pass
        raise _wrong(where, N_("an amount such as 50000 is needed"))
    if not isinstance(value, list) or not value:
        raise _wrong(where, N_("a list of values is needed"))
    if name == "budget_states" and not set(value) <= set(BUDGET_STATES):
        raise _wrong(where, N_("a budget is within, tight, over or unknown"))


def _ability(ability: str, abilities: Collection[str], where: str) -> None:
    if ability not in abilities:
        raise _wrong(where, N_("no role grants this ability"))


def _whole(value: object, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1000:
        return value
    raise _wrong(where, N_("a whole number from 1 to 1000 is needed"))


def _wrong(where: str, text: str) -> Invalid:
    return Invalid(Reason("policy", text), where)


def chain(policy: Policy, facts: Facts) -> tuple[Step, ...]:
    """The stations of a request: rules that hold, one station per ability, in ladder order.

    Several rules on one ability ask for the largest of their counts.
    """
    counts: dict[str, int] = {}
    because: dict[str, list[str]] = {}
    for rule in policy.rules:
        if rule.holds(facts):
            counts[rule.ability] = max(rule.count, counts.get(rule.ability, 0))
            because.setdefault(rule.ability, []).append(rule.name)
    asked = [ability for ability in policy.ladder if ability in counts]
    return tuple(
        Step(position, ability, counts[ability], tuple(because[ability]))
        for position, ability in enumerate(asked, 1)
    )


def raised(ladder: Sequence[str], ability: str, enough: Mapping[str, bool]) -> str | None:
    """The first rung from `ability` upwards with enough people to sign; None when there is none.

    `enough[rung]`: other people than the requester suffice there. A sole approver's own request
    thus goes up a level.
    """
    rungs = ladder[ladder.index(ability) :] if ability in ladder else [ability]
    return next((rung for rung in rungs if enough.get(rung)), None)
