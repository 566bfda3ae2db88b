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
from governance.telemetry.queries.work import JobRow, OccupancyRow, jobs, occupancy

__all__ = [
    "GROUPS",
    "CardView",
    "HoldingView",
    "JobRow",
    "OccupancyRow",
    "UsageRow",
    "cards_of_rental",
    "free_cards",
    "holdings_of_rental",
    "idle_cards",
    "jobs",
    "occupancy",
    "usage",
]
