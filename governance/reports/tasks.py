"""Doors for Celery: the nightly judgement, realised savings, views by mail."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from governance.accounts.queries import organisation
from governance.plumbing import clock
from governance.plumbing.tasks import every, job, task
from governance.reports import services


@every(seconds=3_600)
@task(queue="reports", soft_limit=900, hard_limit=1_000)
@job("judge")
def judge_yesterday() -> int:
    """Judges the last full local day; hourly, so that a missed night is made up for."""
    now = clock.now()
    today = now.astimezone(ZoneInfo(organisation().timezone)).date()
    return services.judge(day=today - timedelta(days=1), now=now)


@every(seconds=86_400)
@task(queue="reports")
@job("realised-savings")
def measure_realised() -> int:
    """Follows up accepted recommendations."""
    return services.measure_realised(now=clock.now())
