"""What upper rooms know about a request, for the approver: they register, this room asks.

`@evidence("flags")` in a module that the upper room's urls import; the function gets (viewer,
request, now) and returns lines of text, translated. A kind nobody registered shows as not
available yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from governance.kernel.policy import Actor
from governance.kernel.reasons import N_
from governance.requests.models import ComputeRequest

Provider = Callable[[Actor, ComputeRequest, datetime], Sequence[str]]
KINDS = {
    "accuracy": N_("Asked against used so far"),
    "flags": N_("Open flags on the team's cards"),
}
_providers: dict[str, Provider] = {}


def evidence(kind: str) -> Callable[[Provider], Provider]:
    """Register the provider of a kind."""

    def register(function: Provider) -> Provider:
        if kind not in KINDS or kind in _providers:
            raise RuntimeError(f"evidence {kind} is not known or has its provider")
        _providers[kind] = function
        return function

    return register


def gathered(
    viewer: Actor, request: ComputeRequest, now: datetime
) -> list[tuple[str, Sequence[str] | None]]:
    """(title, lines) of every kind; None where no room provides it yet."""
    return [
        (title, _providers[kind](viewer, request, now) if kind in _providers else None)
        for kind, title in KINDS.items()
    ]
