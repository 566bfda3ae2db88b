"""When a person leaves: rooms say what is in the person's hands and how it goes to another.

`@hands_over("requests")` in an upper room, imported by its AppConfig.ready; the function gets
(actor, leaver_id, heir_id, now) inside the act's transaction and returns how many things moved;
with heir_id None it only counts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from governance.kernel.policy import Actor

Hand = Callable[[Actor, int, int | None, datetime], int]
_hands: dict[str, Hand] = {}


def hands_over(kind: str) -> Callable[[Hand], Hand]:
    """Register a kind of thing that people hold."""

    def register(function: Hand) -> Hand:
        if kind in _hands:
            raise RuntimeError(f"two hands for {kind}")
        _hands[kind] = function
        return function

    return register


def hand_over(actor: Actor, leaver_id: int, heir_id: int | None, now: datetime) -> dict[str, int]:
    """Move everything (or count it), by kind."""
    return {kind: hand(actor, leaver_id, heir_id, now) for kind, hand in sorted(_hands.items())}
