"""Health tells the truth, part by part."""

from datetime import timedelta

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from governance.plumbing import clock, outbox
from governance.plumbing.models import Heartbeat, OutboxEvent

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _well() -> None:
    Heartbeat.objects.create(name="heartbeat", at=clock.now())


def parts(client: Client, status: int) -> dict[str, str]:
    answer = client.get("/readyz")
    assert answer.status_code == status, answer.content
    return {name: part["detail"] for name, part in answer.json()["parts"].items()}


def test_all_is_well(client: Client) -> None:
    assert set(parts(client, 200).values()) == {""}


def test_a_silent_worker_shows(client: Client) -> None:
    Heartbeat.objects.update(at=clock.now() - timedelta(seconds=181))
    assert parts(client, 503)["worker"].startswith("last heard of 18")
    Heartbeat.objects.all().delete()
    assert parts(client, 503)["worker"] == "beat and worker have not been heard of"


def test_a_late_outbox_shows(client: Client) -> None:
    late = clock.now() - timedelta(seconds=61)
    OutboxEvent.objects.create(kind="k", key="k", payload={}, created_at=late, due_at=late)
    assert outbox.lag_seconds() > 60
    assert parts(client, 503)["outbox"].endswith("s behind")


def test_a_waiting_migration_shows(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="mfa").delete()
    assert parts(client, 503)["database"] == "migrations wait to be applied"


def test_a_broker_that_is_away_shows(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from celery import current_app

    monkeypatch.setattr(current_app.conf, "broker_read_url", "redis+socket:///nowhere.sock")
    assert parts(client, 503)["broker"] == "does not answer"


def test_being_alive_asks_nobody(client: Client, django_assert_num_queries: object) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert client.get("/livez").content == b"alive\n"
