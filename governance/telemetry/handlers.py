"""What the telemetry room does when it hears of its own events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.plumbing import clock
from governance.plumbing.outbox import handler
from governance.telemetry import services


@handler("telemetry.silent")
@handler("telemetry.card_lost")
@handler("telemetry.spool_full")
def tell(payload: Mapping[str, Any]) -> None:
    """Mail it to the operators and to the teams concerned."""
    services.tell(payload, now=clock.now())
