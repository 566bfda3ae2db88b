"""The Celery application. Tasks register by `plumbing.tasks`, the schedule lives in code."""

import os

from celery import Celery
from celery.signals import import_modules

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")

app = Celery("governance")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(related_name="handlers")


@import_modules.connect(sender=app)
def _schedule(sender: Celery, **_: object) -> None:
    """Once all tasks are imported (the connections above come first), they make up the schedule."""
    from governance.plumbing.tasks import SCHEDULE

    sender.conf.beat_schedule = {
        name: {"task": name, "schedule": entry.schedule, "options": {"expires": entry.expires}}
        for name, entry in SCHEDULE.items()
    }
