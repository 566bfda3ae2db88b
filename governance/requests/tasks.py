"""Scheduled work of the room."""

from __future__ import annotations

from governance.plumbing import clock
from governance.plumbing.tasks import every, job, task
from governance.requests import services


@every(seconds=300)
@task()
@job("watch-requests")
def watch_requests() -> dict[str, int]:
    """Remind, raise and expire requests."""
    return services.watch(now=clock.now())
