"""Reads of the telemetry room. Every read starts from what the viewer may see."""

from governance.telemetry.queries.cards import (
    CardView,
    HoldingView,
    cards_of_rental,
    free_cards,
    holdings_of_rental,
    idle_cards,
)
from governance.telemetry.queries.usage import GROUPS, UsageRow, usage

__all__ = [
    "GROUPS",
    "CardView",
    "HoldingView",
    "UsageRow",
    "cards_of_rental",
    "free_cards",
    "holdings_of_rental",
    "idle_cards",
    "usage",
]
