"""The clock of the doors. Services and rules take `now`; only views, tasks and commands ask."""

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """The present instant, aware, in UTC."""
    return timezone.now()
