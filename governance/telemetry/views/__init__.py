"""Pages of the telemetry room."""

from governance.telemetry.views.cards import card, card_peaks, cards
from governance.telemetry.views.nodes import (
    change_node,
    enrol_node,
    node,
    nodes,
    revoke_node,
    rotate_node,
)

__all__ = [
    "card",
    "card_peaks",
    "cards",
    "change_node",
    "enrol_node",
    "node",
    "nodes",
    "revoke_node",
    "rotate_node",
]
