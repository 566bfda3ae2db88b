"""Celery doors of the rentals room."""

from __future__ import annotations

from celery.schedules import crontab

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.plumbing.tasks import every, job, task
from governance.rentals import services


@every(at=crontab(minute=17))
@task(soft_limit=1_500, hard_limit=1_800)
@job("rentals-charge")
def charge_rentals() -> int:
    """Renew what renews itself, post what fell due, and begin or end what is due to."""
    now = clock.now()
    services.renew_due(actor=SYSTEM, now=now)
    run = services.charge_rentals(actor=SYSTEM, until=now, now=now, workers=2)
    services.advance_states(actor=SYSTEM, now=now)
    return run.charges


@every(at=crontab(minute=31, hour=0))
@task()
@job("rentals-remind")
def remind() -> int:
    """Tell of rentals that end in 30, 14, 7 or 1 days."""
    return services.remind(actor=SYSTEM, now=clock.now())
