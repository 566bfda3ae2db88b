"""Doors for Celery: the nightly judgement, realised savings, views by mail."""

from __future__ import annotations

from governance.plumbing import clock
from governance.plumbing.tasks import every, job, task
from governance.reports import services


@every(seconds=60)
@task(queue="reports", soft_limit=900, hard_limit=1_000)
@job("judge")
def judge_nights() -> int:
    """Judges the full local days not judged yet, once their readings are rolled up."""
    return services.judge_missed(now=clock.now())


@every(seconds=86_400)
@task(queue="reports")
@job("realised-savings")
def measure_realised() -> int:
    """Follows up accepted recommendations."""
    return services.measure_realised(now=clock.now())


@every(seconds=3_600)
@task(queue="reports")
@job("mail-views")
def mail_views() -> int:
    """Sends the saved views that are due today."""
    return services.send_due(now=clock.now())
