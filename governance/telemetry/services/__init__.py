"""Acts of the telemetry room."""

from governance.telemetry import policies
from governance.telemetry.services.alerts import find_silent
from governance.telemetry.services.calendar import book_card, end_booking, extend_booking
from governance.telemetry.services.imports import (
    Stored,
    import_inventory,
    import_jobs,
    import_occupancy,
    import_pages,
)
from governance.telemetry.services.ingest import Delivery, Receipt, ingest_page, ingest_pages
from governance.telemetry.services.nodes import (
    Enrolment,
    change_node,
    enrol_node,
    node_for_token,
    revoke_node,
    rotate_token,
    tokens_of,
)
from governance.telemetry.services.packing import pack_closed
from governance.telemetry.services.pull import claim_due, pull_nodes, unpack
from governance.telemetry.services.retention import keep
from governance.telemetry.services.rollup import roll_days, roll_hours, roll_up

__all__ = [
    "Delivery",
    "Enrolment",
    "Receipt",
    "Stored",
    "book_card",
    "change_node",
    "claim_due",
    "end_booking",
    "enrol_node",
    "extend_booking",
    "find_silent",
    "import_inventory",
    "import_jobs",
    "import_occupancy",
    "import_pages",
    "ingest_page",
    "ingest_pages",
    "keep",
    "node_for_token",
    "pack_closed",
    "policies",
    "pull_nodes",
    "revoke_node",
    "roll_days",
    "roll_hours",
    "roll_up",
    "rotate_token",
    "tokens_of",
    "unpack",
]
