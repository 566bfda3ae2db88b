"""Health tells the truth: each part that fails makes /readyz say so, and by name."""

import datetime as dt

import pytest
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.plumbing.models import Heartbeat, OutboxEvent
from governance.portal import health
from governance.telemetry import services

pytestmark = pytest.mark.django_db


@pytest.fixture
def beating() -> None:
    Heartbeat.objects.create(name="heartbeat", at=clock.now())


def test_livez_asks_nothing(client: Client, django_assert_num_queries: object) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert client.get("/livez").content == b"ok"


def test_ready_when_every_part_is(client: Client, beating: None) -> None:
    answer = client.get("/readyz")
    assert answer.json()["ready"] is True, answer.json()
    assert answer.status_code == 200
    assert set(answer.json()["parts"]) == set(health.PARTS)


def failing(client: Client, part: str) -> str:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    body = answer.json()
    assert [n for n, p in body["parts"].items() if not p["ready"]] == [part]
    return str(body["parts"][part]["detail"])


def test_beat_never_seen(client: Client) -> None:
    assert failing(client, "beat") == "no heartbeat yet"


def test_beat_too_old(client: Client) -> None:
    Heartbeat.objects.create(name="heartbeat", at=clock.now() - dt.timedelta(seconds=181))
    assert "181 s ago" in failing(client, "beat")


def test_outbox_waits_too_long(client: Client, beating: None) -> None:
    due = clock.now() - dt.timedelta(seconds=75)
    OutboxEvent.objects.create(kind="x", key="x", payload={}, created_at=due, due_at=due)
    assert "75 s" in failing(client, "outbox")


def test_ingest_is_late(client: Client, beating: None) -> None:
    services.enrol_node(
        actor=SYSTEM,
        name="late",
        address="http://127.0.0.1:9",
        now=clock.now() - dt.timedelta(minutes=11),
    )
    assert "660 s late" in failing(client, "ingest")


def test_a_node_that_is_tried_again_later_is_not_late(client: Client, beating: None) -> None:
    services.enrol_node(actor=SYSTEM, name="new", address="http://127.0.0.1:9", now=clock.now())
    assert client.get("/readyz").status_code == 200
    assert "ledger_nodes_silent 0.0" in client.get("/metrics").content.decode()


def test_migration_not_applied(client: Client, beating: None) -> None:
    recorder = MigrationRecorder(connections["default"])
    recorder.record_unapplied("plumbing", "0002_append_only")
    assert "plumbing.0002_append_only" in failing(client, "migrations")


def test_broker_away(client: Client, beating: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from celery import current_app

    real = current_app.connection_for_write
    monkeypatch.setattr(
        current_app,
        "connection_for_write",
        lambda **o: real("redis://127.0.0.1:1/0", **o),
    )
    assert failing(client, "broker")


def test_database_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db.backends.utils import CursorWrapper
    from django.db.utils import OperationalError

    def refuse(*args: object, **kwargs: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(CursorWrapper, "execute", refuse)
    part = health.ask("database")
    assert not part.ready
    assert part.detail == "OperationalError"


def test_metrics_carry_ages_and_readiness(client: Client, beating: None) -> None:
    text = client.get("/metrics").content.decode()
    assert 'ledger_ready{part="database"} 1.0' in text
    assert 'ledger_job_age_seconds{job="heartbeat"}' in text
    assert "ledger_outbox_lag_seconds 0.0" in text
    assert "ledger_ingest_lag_seconds 0.0" in text
