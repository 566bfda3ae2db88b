"""Whether the living system is fit to serve. Rooms add checks of their own with `@part`."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from celery import current_app
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from governance.plumbing import clock, outbox, schema
from governance.plumbing.models import Heartbeat

BEAT_LATE = timedelta(seconds=180)
OUTBOX_LATE_SECONDS = 60
BROKER_SECONDS = 3

Check = Callable[[], str]
_parts: dict[str, Check] = {}


def part(name: str) -> Callable[[Check], Check]:
    """Register a check: it returns what is wrong, or an empty text."""

    def register(check: Check) -> Check:
        _parts[name] = check
        return check

    return register


def faults() -> Mapping[str, str]:
    """What is wrong with each part, empty where nothing is. Never raises for a part that fails."""
    return {name: _outcome(check) for name, check in _parts.items()}


def _outcome(check: Check) -> str:
    try:
        return check()
    except (DatabaseError, OSError) as error:
        return f"{type(error).__name__}: cannot be asked"


@part("database")
def _database() -> str:
    return "migrations wait to be applied" if schema.outdated() else ""


@part("broker")
def _broker() -> str:
    try:
        with current_app.connection_for_read() as connection:
            connection.ensure_connection(max_retries=1, timeout=BROKER_SECONDS)
    except OperationalError:
        return "does not answer"
    return ""


@part("worker")
def _worker() -> str:
    last = Heartbeat.objects.filter(name="heartbeat").first()
    if last is None:
        return "beat and worker have not been heard of"
    age = clock.now() - last.at
    return f"last heard of {age.total_seconds():.0f} s ago" if age > BEAT_LATE else ""


@part("outbox")
def _outbox() -> str:
    lag = outbox.lag_seconds()
    return f"{lag:.0f} s behind" if lag > OUTBOX_LATE_SECONDS else ""
