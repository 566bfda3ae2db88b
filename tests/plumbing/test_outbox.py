from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from django.db import IntegrityError, connection, transaction

from governance.plumbing import outbox
from governance.plumbing.models import OutboxEvent

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
def heard() -> Iterator[list[object]]:
    """What a handler of "test.kind" was given; it fails while `broken` is in the payload's list."""
    got: list[object] = []

    def listen(payload: object) -> None:
        if payload["broken"]:  # type: ignore[index]
            raise ValueError("no")
        got.append(payload)

    outbox._handlers["test.kind"] = [listen]
    yield got
    del outbox._handlers["test.kind"]


def _emit(key: str = "k", *, broken: bool = False) -> None:
    outbox.emit(kind="test.kind", payload={"broken": broken, "key": key}, key=key)


def test_event_is_delivered_once(heard: list[object]) -> None:
    _emit()
    _emit()
    assert outbox.drain() == 1
    assert outbox.drain() == 0
    assert heard == [{"broken": False, "key": "k"}]


def test_event_of_a_rolled_back_act_does_not_exist(heard: list[object]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        _emit()
        raise IntegrityError
    assert outbox.drain() == 0
    assert heard == []


def test_failing_handler_waits_longer_each_time_and_ends_dead(heard: list[object]) -> None:
    waits = []
    with time_machine.travel(NOON, tick=False) as clock:
        _emit("bad", broken=True)
        _emit("good")
        for _ in range(outbox.DEAD_AFTER):
            outbox.drain()
            event = OutboxEvent.objects.get(key="bad")
            waits.append((event.due_at - datetime.now(UTC)).total_seconds())
            clock.move_to(event.due_at)
        assert outbox.drain() == 0
    assert waits[:4] == [5, 10, 20, 40]
    assert max(waits) == 3600
    assert event.dead_at is not None
    assert event.last_error == "ValueError: no"
    assert heard == [{"broken": False, "key": "good"}]


def test_lag_is_the_age_of_the_oldest_due_event(heard: list[object]) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        assert outbox.lag_seconds() == 0
        _emit()
        clock.shift(90)
        assert outbox.lag_seconds() == 90


def test_failing_sql_of_a_handler_spoils_nothing_else(heard: list[object]) -> None:
    def listen(_payload: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM nowhere")

    outbox._handlers["test.bad"] = [listen]
    outbox.emit(kind="test.bad", payload={}, key="bad")
    _emit("good")
    try:
        assert outbox.drain() == 2
    finally:
        del outbox._handlers["test.bad"]
    assert len(heard) == 1
    assert "nowhere" in OutboxEvent.objects.get(key="bad").last_error
