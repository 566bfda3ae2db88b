"""Who looks: the person of a web request, or commands and nightly tasks, which see everything."""

from __future__ import annotations

from typing import Any

from governance.kernel.policy import Actor


class Everything:
    """Sees all rows; has no right to act."""

    actor_key = "system"
    display = "system"

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        return frozenset({"see.all"})


EVERYTHING = Everything()


def viewer_of(request: Any) -> Actor:
    """The signed-in person of a request (the frame lets nobody else through)."""
    viewer: Actor = request.user
    return viewer
