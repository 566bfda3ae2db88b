"""Life cycles as one table: (state, act) -> state and ability. Docs are drawn from the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from governance.kernel.errors import Refused
from governance.kernel.reasons import N_, Reason


@dataclass(frozen=True, slots=True)
class Transition:
    """In `source`, `act` leads to `target`; the ability is what the actor needs for it."""

    source: str
    act: str
    target: str
    ability: str = ""


class Lifecycle:
    """A named transition table.

    >>> Lifecycle("door", [Transition("open", "close", "shut")]).next("open", "close")
    'shut'
    """

    def __init__(self, name: str, transitions: Sequence[Transition]) -> None:
        self.name = name
        self.transitions = tuple(transitions)
        self._table = {(t.source, t.act): t for t in transitions}
        if len(self._table) != len(self.transitions):
            raise ValueError(f"{name}: the same act leaves one state twice")

    @property
    def states(self) -> tuple[str, ...]:
        """All states, in the order in which the table first names them."""
        return tuple(dict.fromkeys(s for t in self.transitions for s in (t.source, t.target)))

    def find(self, state: str, act: str) -> Transition | None:
        """The transition, or None where the act is not possible in the state."""
        return self._table.get((state, act))

    def next(self, state: str, act: str) -> str:
        """The state that the act leads to; Refused (409) where the table has none."""
        transition = self.find(state, act)
        if transition is None:
            raise Refused(
                Reason(
                    "state",
                    N_("Not possible now: “%(act)s” does not start in the state “%(state)s”."),
                    {"state": state, "act": act},
                )
            )
        return transition.target

    def acts_from(self, state: str) -> tuple[str, ...]:
        """The acts that are possible in the state."""
        return tuple(t.act for t in self.transitions if t.source == state)

    def mermaid(self) -> str:
        """The table as a Mermaid state diagram for the docs."""
        lines = ["stateDiagram-v2"]
        lines += [f"    {t.source} --> {t.target}: {t.act}" for t in self.transitions]
        return "\n".join(lines)
