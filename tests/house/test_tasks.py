"""Every task ends, and is never started twice by a broker that waits too short."""

from __future__ import annotations

from django.conf import settings

from governance.config import celery_app
from governance.plumbing.tasks import QUEUE_OF, SCHEDULE

celery_app.loader.import_default_modules()
OURS = {name: t for name, t in celery_app.tasks.items() if name.startswith("governance.")}


def test_there_are_tasks() -> None:
    assert "governance.plumbing.tasks.drain_outbox" in OURS


def test_every_task_names_queue_and_limits() -> None:
    wrong = [
        name
        for name, task in OURS.items()
        if name not in QUEUE_OF or not task.soft_time_limit or not task.time_limit
    ]
    assert wrong == []


def test_limits_stay_under_the_broker_s_patience() -> None:
    longest = max(task.time_limit for task in OURS.values())
    assert longest + 120 < settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]


def test_schedule_names_existing_tasks() -> None:
    assert set(SCHEDULE) <= set(OURS)
