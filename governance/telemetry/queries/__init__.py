"""Reads of the telemetry room. Every read starts from what the viewer may see."""

from governance.telemetry.queries.cards import (
    CardView,
    HoldingView,
    cards_for,
    cards_of_rental,
    free_cards,
    holdings_of_rental,
    idle_cards,
)
from governance.telemetry.queries.nodes import (
    NodeRow,
    alerts,
    card_for,
    conflicts,
    gaps,
    inventory,
    node_for,
    node_row,
    node_rows,
    rejections,
)
from governance.telemetry.queries.series import Heat, Peak, gaps_of, heat, minutes, peaks
from governance.telemetry.queries.usage import GROUPS, UsageRow, usage
from governance.telemetry.queries.work import JobRow, OccupancyRow, jobs, occupancy

__all__ = [
    "GROUPS",
    "CardView",
    "Heat",
    "HoldingView",
    "JobRow",
    "NodeRow",
    "OccupancyRow",
    "Peak",
    "UsageRow",
    "alerts",
    "card_for",
    "cards_for",
    "cards_of_rental",
    "conflicts",
    "free_cards",
    "gaps",
    "gaps_of",
    "heat",
    "holdings_of_rental",
    "idle_cards",
    "inventory",
    "jobs",
    "minutes",
    "node_for",
    "node_row",
    "node_rows",
    "occupancy",
    "peaks",
    "rejections",
    "usage",
]
