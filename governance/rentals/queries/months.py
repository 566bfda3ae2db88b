"""Open and closed months, by the organisation's calendar."""

from __future__ import annotations

from datetime import date

from django.db.models import QuerySet

from governance.kernel.periods import add_months
from governance.rentals.models import Month


def months() -> QuerySet[Month]:
    """Closed months, newest first."""
    return Month.objects.all()


def is_closed(day: date) -> bool:
    """Whether the day's month is closed."""
    return Month.objects.filter(month=day.replace(day=1)).exists()


def first_open_day() -> date | None:
    """The first day that can still be booked: after the last closed month; None: all are open."""
    last = Month.objects.order_by("-month").values_list("month", flat=True).first()
    return None if last is None else add_months(last, 1)
