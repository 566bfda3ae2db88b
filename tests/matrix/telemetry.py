"""Routes of nodes and cards."""

from __future__ import annotations

from typing import Any

from governance.telemetry.models import Card
from governance.telemetry.services import enrol_node
from tests.matrix.shapes import EVERYBODY, SEE_ALL, Route

OPERATES: dict[str, Any] = {"allow": {"operator"}, "forbidden": EVERYBODY}


def prepare(world: Any) -> None:
    """A node that pushes, without cards yet."""
    world.node_id = enrol_node(
        actor=world.house.operator, name="node-of-the-matrix", mode="push", now=world.now
    ).node_id
    world.card = Card.objects.create(node_id=world.node_id, vendor="nvidia", uuid="GPU-matrix")


def node(world: Any) -> list[Any]:
    return [world.node_id]


def card(world: Any) -> list[Any]:
    return [world.card.pk]


ACTS: dict[str, Any] = {"allow": {"operator"}, "forbidden": SEE_ALL, "args": node}

ROUTES = [
    Route("api:push-samples", "POST", machine=True, note="node tokens"),
    Route("api:nodes"),
    Route(
        "api:nodes",
        "POST",
        data=lambda w: {"name": "another", "mode": "push"},
        **OPERATES,
    ),
    Route("api:node", args=node, allow=SEE_ALL),
    Route("api:rotate-node", "POST", **ACTS),
    Route("api:revoke-node", "POST", data=lambda w: {"reason": "gone"}, **ACTS),
    Route("api:cards"),
    Route("api:card", args=card, allow=SEE_ALL, note="members: cards they hold"),
    Route("api:card-minutes", args=card, allow=SEE_ALL, note="members: cards they hold"),
    Route("api:usage", query="?from=2026-11-01&to=2026-11-02", note="what one may see"),
    Route("telemetry:cards"),
    Route("telemetry:nodes"),
    Route("telemetry:enrol-node", **OPERATES),
    Route("telemetry:node", args=node, allow=SEE_ALL, note="members: with cards they hold"),
    Route("telemetry:card", args=card, allow=SEE_ALL, note="members: cards they hold"),
    Route("telemetry:card-peaks", args=card, allow=SEE_ALL, note="members: cards they hold"),
    Route("telemetry:change-node", args=node, **OPERATES),
    Route("telemetry:rotate-node", "POST", **ACTS),
    Route("telemetry:revoke-node", "POST", **ACTS),
]
