"""Acts of the telemetry room."""

from governance.telemetry.services.calendar import book_card, end_booking, extend_booking
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
from governance.telemetry.services.rollup import roll_days, roll_hours, roll_up

__all__ = [
    "Delivery",
    "Enrolment",
    "Receipt",
    "book_card",
    "change_node",
    "end_booking",
    "enrol_node",
    "extend_booking",
    "ingest_page",
    "ingest_pages",
    "node_for_token",
    "revoke_node",
    "roll_days",
    "roll_hours",
    "roll_up",
    "rotate_token",
    "tokens_of",
]
