"""How a room declares its routes; see the package's docstring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

ACTORS = (
    "anonymous",
    "outsider",
    "member",
    "lead",
    "approver",
    "finance",
    "operator",
    "auditor",
    "admin",
)
EVERYBODY = frozenset(ACTORS[1:])
SEE_ALL = frozenset({"approver", "finance", "operator", "auditor", "admin"})
MEMBERS = frozenset({"member", "lead"})
INSIDERS = EVERYBODY - {"outsider"}
World = SimpleNamespace


@dataclass(frozen=True)
class Route:
    """One route and method: who passes, who is forbidden; the rest do not find it."""

    name: str
    method: str = "GET"
    allow: frozenset[str] | set[str] = EVERYBODY
    forbidden: frozenset[str] | set[str] = field(default_factory=frozenset)
    args: Callable[[Any], list[Any]] = lambda world: []
    data: Callable[[Any], Any] = lambda world: {}
    open: bool = False
    """No sign-in needed."""
    machine: bool = False
    """For node tokens alone: people get 401 by whatever session or token."""
    query: str = ""
    note: str = ""

    @property
    def is_api(self) -> bool:
        return self.name.startswith("api:")

    def expected(self, actor: str) -> str:
        """pass, forbidden, missing, or sign-in."""
        if self.machine:
            return "sign-in"
        if actor == "anonymous":
            return "pass" if self.open else "sign-in"
        if actor in self.allow:
            return "pass"
        return "forbidden" if actor in self.forbidden else "missing"
