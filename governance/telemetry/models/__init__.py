"""Tables of the telemetry room."""

from governance.telemetry.models.calendar import CardHolding
from governance.telemetry.models.nodes import (
    Alert,
    Card,
    Conflict,
    Gap,
    Node,
    PullState,
    Rejection,
    Stream,
)
from governance.telemetry.models.samples import (
    DirtyDay,
    DirtyHour,
    Kept,
    MinuteSample,
    PackedDay,
    UsageDay,
    UsageHour,
)
from governance.telemetry.models.work import InventoryEntry, Job, Occupancy

__all__ = [
    "Alert",
    "Card",
    "CardHolding",
    "Conflict",
    "DirtyDay",
    "DirtyHour",
    "Gap",
    "InventoryEntry",
    "Job",
    "Kept",
    "MinuteSample",
    "Node",
    "Occupancy",
    "PackedDay",
    "PullState",
    "Rejection",
    "Stream",
    "UsageDay",
    "UsageHour",
]
