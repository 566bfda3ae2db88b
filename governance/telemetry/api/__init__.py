"""The telemetry API: what nodes push, and nodes, cards and usage for programs."""

from governance.telemetry.api.cards import CardDetail, CardList, CardMinutes, Usage
from governance.telemetry.api.nodes import NodeDetail, NodeList, RevokeNode, RotateNode
from governance.telemetry.api.push import PushSamples

__all__ = [
    "CardDetail",
    "CardList",
    "CardMinutes",
    "NodeDetail",
    "NodeList",
    "PushSamples",
    "RevokeNode",
    "RotateNode",
    "Usage",
]
