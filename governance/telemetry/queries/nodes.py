"""Nodes and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum

from governance.kernel.errors import Missing
from governance.kernel.policy import Actor
from governance.telemetry.models import Alert, Card, Conflict, Gap, InventoryEntry, Node, Rejection
from governance.telemetry.models.nodes import FILE, PULL

GIVEN_UP = 6
"""Failures in a row after which a node is shown as not reachable."""


@dataclass(frozen=True)
class NodeRow:
    """A node as the list shows it. `state` is waiting, ok, behind, silent, failing,
    revoked or recorded."""

    node: Node
    state: str
    cards: int
    lost: int
    conflicts: int
    lag: timedelta | None
    skew_seconds: float | None
    last_seen_at: datetime | None
    error: str


def node_rows(viewer: Actor, *, now: datetime) -> list[NodeRow]:
    """All nodes that the viewer may see, by name."""
    nodes = (
        Node.objects.visible_to(viewer)
        .select_related("pull")
        .annotate(
            card_count=Count("cards", distinct=True),
            lost_count=Count("cards", filter=~Q(cards__state="ok"), distinct=True),
            conflict_count=Count("conflicts", distinct=True),
        )
        .order_by("name")
    )
    return [node_row(node, now) for node in nodes]


def node_row(node: Node, now: datetime) -> NodeRow:
    pull = node.pull
    lag = None
    if pull.newest_minute is not None:
        newest = datetime.fromtimestamp(pull.newest_minute * 60 + 60, now.tzinfo)
        lag = max(now - newest, timedelta())
    return NodeRow(
        node=node,
        state=state_of(node, now),
        cards=getattr(node, "card_count", 0),
        lost=getattr(node, "lost_count", 0),
        conflicts=getattr(node, "conflict_count", 0),
        lag=lag,
        skew_seconds=pull.skew_seconds,
        last_seen_at=pull.last_ok_at,
        error=pull.last_error,
    )


def state_of(node: Node, now: datetime) -> str:
    """One word for how the node does."""
    pull = node.pull
    if node.revoked_at is not None:
        return "revoked"
    if node.mode == FILE:
        return "recorded"
    if pull.last_ok_at is None:
        return "failing" if pull.last_error else "waiting"
    if pull.last_ok_at < now - timedelta(minutes=node.silent_after_minutes):
        return "silent"
    if node.mode == PULL and pull.failures >= GIVEN_UP:
        return "failing"
    return "behind" if pull.behind else "ok"


def node_for(viewer: Actor, node_id: int) -> Node:
    """The node, or Missing where the viewer may not see it."""
    node = Node.objects.visible_to(viewer).select_related("pull").filter(pk=node_id).first()
    if node is None:
        raise Missing()
    return node


def node_named(name: str) -> Node | None:
    """The enrolled node of that name, for the platform's own acts."""
    return Node.objects.filter(name=name, revoked_at=None).first()


def card_for(viewer: Actor, card_id: int) -> Card:
    """The card, or Missing where the viewer may not see it."""
    card = Card.objects.visible_to(viewer).select_related("node").filter(pk=card_id).first()
    if card is None:
        raise Missing()
    return card


def gaps(node: Node) -> QuerySet[Gap]:
    return node.gaps.order_by("-starts_at")


def conflicts(node: Node) -> QuerySet[Conflict]:
    return node.conflicts.select_related("card").order_by("-last_seen_at")


def alerts(node: Node) -> QuerySet[Alert]:
    return node.alerts.select_related("card").order_by("-opened_at")


def rejections(node: Node) -> list[Any]:
    """Rows left out by reason: how many, and on which day last."""
    found = Rejection.objects.filter(node=node).values("reason")
    return list(found.annotate(count=Sum("rows"), last=Max("day")).order_by("-count"))


def inventory(viewer: Actor) -> list[Any]:
    """Cards by model as inventories tell, for those who see all."""
    if "see.all" not in viewer.abilities():
        return []
    return list(
        InventoryEntry.objects.filter(cards__gt=0)
        .values("model_text", "model_slug")
        .annotate(nodes=Count("node", distinct=True), count=Sum("cards"))
        .order_by("-count")
    )
