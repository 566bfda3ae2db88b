"""The daily digest."""

from __future__ import annotations

from celery.schedules import crontab

from governance.notices import services
from governance.plumbing import clock
from governance.plumbing.tasks import every, job, task


@every(at=crontab(minute=0, hour=1))
@task()
@job("notice-digests")
def send_digests() -> int:
    """At 01:00 UTC, the morning of UTC+8."""
    return services.send_digests(now=clock.now())
