"""At-least-once messages between rooms and to the outside. `emit` inside the act's transaction;
a task drains what is due. Handlers must be idempotent by a database key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import connection, transaction

from governance.plumbing import clock
from governance.plumbing.models import OutboxEvent

log = structlog.get_logger("governance.outbox")
Handler = Callable[[Mapping[str, Any]], None]
_handlers: dict[str, list[Handler]] = {}
DEAD_AFTER = 20
_FIRST_WAIT, _LONGEST_WAIT = timedelta(seconds=5), timedelta(hours=1)


def handler(kind: str) -> Callable[[Handler], Handler]:
    """Register a handler of a kind of event; several may listen to one kind."""

    def register(function: Handler) -> Handler:
        _handlers.setdefault(kind, []).append(function)
        return function

    return register


def emit(
    *, kind: str, payload: Mapping[str, Any], key: str, due_at: datetime | None = None
) -> None:
    """Write the event once: a second emit with the same key changes nothing."""
    if not connection.in_atomic_block:
        raise RuntimeError("an outbox event belongs into the transaction of its act")
    now = clock.now()
    OutboxEvent.objects.bulk_create(
        [OutboxEvent(kind=kind, key=key, payload=payload, created_at=now, due_at=due_at or now)],
        ignore_conflicts=True,
    )


def drain(*, limit: int = 100) -> int:
    """Deliver due events one by one, each in its own transaction; returns how many were tried."""
    for done in range(limit):
        if not _deliver_next():
            return done
    return limit


def _deliver_next() -> bool:
    with transaction.atomic():
        event = (
            OutboxEvent.objects.filter(delivered_at=None, dead_at=None, due_at__lte=clock.now())
            .order_by("due_at", "id")
            .select_for_update(skip_locked=True)
            .first()
        )
        if event is None:
            return False
        event.attempts += 1
        try:
            with transaction.atomic():
                for function in _handlers.get(event.kind, []):
                    function(event.payload)
            event.delivered_at = clock.now()
        except Exception as error:  # a handler's fault must not stop the others
            log.exception("outbox_failed", kind=event.kind, key=event.key, attempt=event.attempts)
            event.last_error = f"{type(error).__name__}: {error}"[:2_000]
            if event.attempts >= DEAD_AFTER:
                event.dead_at = clock.now()
            wait = min(_FIRST_WAIT * 2 ** (event.attempts - 1), _LONGEST_WAIT)
            event.due_at = clock.now() + wait
        event.save(update_fields=["attempts", "delivered_at", "dead_at", "last_error", "due_at"])
        return True


def lag_seconds() -> float:
    """Age of the oldest event that is due and not delivered; 0 when there is none."""
    oldest = (
        OutboxEvent.objects.filter(delivered_at=None, dead_at=None, due_at__lte=clock.now())
        .order_by("due_at")
        .values_list("due_at", flat=True)
        .first()
    )
    return (clock.now() - oldest).total_seconds() if oldest else 0.0
