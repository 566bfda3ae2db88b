"""How fresh each node's data are; for the platform's own checks, so not bound to a viewer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from governance.telemetry.models import DirtyHour, PullState
from governance.telemetry.models.nodes import PULL


@dataclass(frozen=True)
class Freshness:
    """A node in service and the newest minute stored of it (minutes since 1970, None: never)."""

    id: int
    name: str
    newest_minute: int | None
    last_ok_at: datetime | None
    enrolled_at: datetime
    silent_after: timedelta

    def is_silent(self, now: datetime) -> bool:
        """No page for longer than the node may be silent."""
        return now - (self.last_ok_at or self.enrolled_at) > self.silent_after


def freshness() -> list[Freshness]:
    """All nodes in service by name."""
    rows = PullState.objects.filter(node__revoked_at=None).select_related("node")
    return [
        Freshness(
            row.node_id,
            row.node.name,
            row.newest_minute,
            row.last_ok_at,
            row.node.enrolled_at,
            timedelta(minutes=row.node.silent_after_minutes),
        )
        for row in rows.order_by("node__name")
    ]


def hours_to_roll_up(before: datetime) -> int:
    """Card-hours before the time whose roll-up is out of date: reports of them would change."""
    return DirtyHour.objects.filter(hour__lt=int(before.timestamp()) // 3600).count()


def ingest_lag(now: datetime) -> float:
    """Seconds by which the most overdue pull or roll-up is late; 0 when nothing is overdue.

    A node that does not answer is not late: its next try is. This is about our own work.
    """
    pulls = PullState.objects.filter(node__revoked_at=None, node__mode=PULL)
    oldest = [
        pulls.order_by("due_at").values_list("due_at", flat=True).first(),
        DirtyHour.objects.order_by("due_at").values_list("due_at", flat=True).first(),
    ]
    return max([0.0, *((now - due).total_seconds() for due in oldest if due is not None)])
