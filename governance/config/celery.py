"""The Celery application. Tasks register by `plumbing.tasks`, the schedule lives in code."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")

app = Celery("governance")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(related_name="handlers")


@app.on_after_finalize.connect
def _schedule(sender: Celery, **_: object) -> None:
    from governance.plumbing.tasks import SCHEDULE

    sender.loader.import_default_modules()
    sender.conf.beat_schedule = {
        name: {"task": name, "schedule": entry.schedule, "options": {"expires": entry.expires}}
        for name, entry in SCHEDULE.items()
    }
