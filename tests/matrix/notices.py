"""Routes of notices."""

from __future__ import annotations

from typing import Any

from governance.notices import services
from governance.plumbing.models import OutboxEvent
from tests.matrix.shapes import EVERYBODY, Route

ADMIN: dict[str, Any] = {"allow": {"admin"}, "forbidden": EVERYBODY}


def prepare(world: Any) -> None:
    """A channel, and a letter given up."""
    world.channel = services.add_channel(
        actor=world.house.admin,
        kind="wecom",
        name="matrix",
        url="https://robot.example.test/send?key=k",
        secret="",
        kinds=["requests"],
        now=world.now,
    )
    world.letter = OutboxEvent.objects.create(
        kind="notice.channel",
        key="matrix",
        payload={},
        created_at=world.now,
        due_at=world.now,
        dead_at=world.now,
    )


def channel(world: Any) -> list[Any]:
    return [world.channel.pk]


ROUTES = [
    Route("notices:list"),
    Route("notices:read", "POST"),
    Route("notices:preferences"),
    Route("notices:channels", **ADMIN),
    Route("notices:close_channel", "POST", args=channel, **ADMIN),
    Route("notices:test_channel", "POST", args=channel, **ADMIN),
    Route("notices:try_again", "POST", args=lambda w: [w.letter.pk], **ADMIN),
]
