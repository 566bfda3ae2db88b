"""Is the platform ready to serve? Each part is asked by itself and answers in one line."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from celery import current_app
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor

from governance.plumbing import clock, outbox
from governance.plumbing.models import Heartbeat
from governance.telemetry.queries import freshness

BEAT_AT_MOST = timedelta(seconds=180)
OUTBOX_AT_MOST = 60.0
INGEST_AT_MOST = 600.0
BROKER_WAIT = 2


class NotReady(Exception):
    """The part is not fit to serve; the text says why."""


@dataclass(frozen=True)
class Part:
    name: str
    ready: bool
    detail: str
    seconds: float


def database() -> str:
    """One round trip."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
    return "answers"


def migrations() -> str:
    """No migration is left to apply."""
    executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
    left = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if left:
        raise NotReady(f"{len(left)} not applied, first {left[0][0]}")
    return "all applied"


def broker() -> str:
    """The queue takes a connection within two seconds."""
    with current_app.connection_for_write(connect_timeout=BROKER_WAIT) as connection:
        connection.ensure_connection(max_retries=1, timeout=BROKER_WAIT, interval_start=0)
    return "answers"


def beat_age() -> timedelta | None:
    """How long ago a worker last did what beat asked for; None if never."""
    last = Heartbeat.objects.filter(name="heartbeat").first()
    return clock.now() - last.at if last else None


def beat() -> str:
    """Beat, broker and worker together: the heartbeat job ran lately."""
    age = beat_age()
    if age is None:
        raise NotReady("no heartbeat yet")
    if age > BEAT_AT_MOST:
        raise NotReady(f"last heartbeat {age.total_seconds():.0f} s ago")
    return f"last heartbeat {age.total_seconds():.0f} s ago"


def outbox_lag() -> str:
    """Events between rooms are delivered within a minute."""
    lag = outbox.lag_seconds()
    if lag > OUTBOX_AT_MOST:
        raise NotReady(f"oldest event waits {lag:.0f} s")
    return f"oldest event waits {lag:.0f} s"


def ingest() -> str:
    """Pulls and roll-ups are done when they are due, or ten minutes later at the latest."""
    lag = freshness.ingest_lag(clock.now())
    if lag > INGEST_AT_MOST:
        raise NotReady(f"oldest pull or roll-up is {lag:.0f} s late")
    return f"oldest pull or roll-up is {lag:.0f} s late"


PARTS: dict[str, Callable[[], str]] = {
    "database": database,
    "migrations": migrations,
    "broker": broker,
    "beat": beat,
    "outbox": outbox_lag,
    "ingest": ingest,
}


def ask(name: str) -> Part:
    """Whatever goes wrong in a part is its answer; the others are still asked."""
    start = time.perf_counter()
    try:
        detail, ready = PARTS[name](), True
    except NotReady as error:
        detail, ready = str(error), False
    except Exception as error:  # a probe reports any fault of what it probes
        detail, ready = type(error).__name__, False
    return Part(name, ready, detail, time.perf_counter() - start)


def ask_all() -> list[Part]:
    return [ask(name) for name in PARTS]
