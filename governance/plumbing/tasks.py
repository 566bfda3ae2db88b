"""Celery doors: every task names its queue and limits; the schedule lives in code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any

from celery import Task, shared_task
from celery.schedules import crontab
from django.db import transaction

from governance.plumbing import audit, clock, locks, outbox
from governance.plumbing.models import Heartbeat, IdempotencyKey

QUEUES = ("default", "ingest", "reports")


@dataclass(frozen=True)
class Entry:
    """When beat sends a task, and after how many seconds an unstarted one is void."""

    schedule: Any
    expires: float


SCHEDULE: dict[str, Entry] = {}
QUEUE_OF: dict[str, str] = {}


def task(
    *, queue: str = "default", soft_limit: int = 240, hard_limit: int = 300
) -> Callable[[Callable[..., Any]], Task]:
    """Declare a task on a queue with its limits in seconds."""
    if queue not in QUEUES:
        raise ValueError(f"unknown queue {queue}")

    def declare(function: Callable[..., Any]) -> Task:
        QUEUE_OF[f"{function.__module__}.{function.__name__}"] = queue
        return shared_task(soft_time_limit=soft_limit, time_limit=hard_limit)(function)

    return declare


def route(name: str, *_: object, **__: object) -> dict[str, str]:
    """Celery's router: the queue that the task declared."""
    return {"queue": QUEUE_OF.get(name, "default")}


def every(*, seconds: float = 0, at: crontab | None = None) -> Callable[[Task], Task]:
    """Put a task on the schedule: each `seconds`, or at a crontab time (UTC)."""

    def register(function: Task) -> Task:
        SCHEDULE[function.name] = Entry(at or timedelta(seconds=seconds), seconds or 3_600)
        return function

    return register


def job(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Run a scheduled function in one place at a time and note when it ended."""

    def decorate(function: Callable[[], Any]) -> Callable[[], Any]:
        @wraps(function)
        def run() -> Any:
            with locks.single(f"job:{name}") as mine:
                if not mine:
                    return None
                result = function()
            beat(name)
            return result

        return run

    return decorate


def beat(name: str) -> None:
    """Note that the named job ended now."""
    Heartbeat.objects.update_or_create(name=name, defaults={"at": clock.now()})


def enqueue(function: Task, **arguments: Any) -> None:
    """Send a task to the queue once the present transaction has committed."""
    transaction.on_commit(lambda: function.apply_async(kwargs=arguments))


@every(seconds=5)
@task()
@job("heartbeat")
def heartbeat() -> None:
    """Shows that beat, broker and worker are alive."""


@every(seconds=5)
@task()
@job("outbox")
def drain_outbox() -> int:
    """Deliver due outbox events."""
    return outbox.drain()


@every(seconds=60)
@task()
@job("audit-seal")
def seal_audit() -> int:
    """Append new audit events to the hash chain."""
    return audit.seal()


@every(seconds=3_600)
@task()
@job("forget-keys")
def forget_keys() -> int:
    """Drop idempotency keys older than 24 hours."""
    return IdempotencyKey.objects.filter(created_at__lt=clock.now() - timedelta(hours=24)).delete()[
        0
    ]
