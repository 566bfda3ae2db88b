"""Nodes as others see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from governance.telemetry.models import Node


@dataclass(frozen=True)
class NodeView:
    """A node and how it is reached."""

    id: int
    name: str
    mode: str
    address: str
    interval_seconds: int
    silent_after_minutes: int
    labels: Mapping[str, str]


def node_named(name: str) -> NodeView | None:
    """The enrolled node of that name, for the platform's own acts."""
    node = Node.objects.filter(name=name, revoked_at=None).first()
    if node is None:
        return None
    return NodeView(
        id=node.pk,
        name=node.name,
        mode=node.mode,
        address=node.address,
        interval_seconds=node.interval_seconds,
        silent_after_minutes=node.silent_after_minutes,
        labels=node.labels,
    )
