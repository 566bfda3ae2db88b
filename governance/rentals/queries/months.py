"""Open and closed months, by the organisation's calendar."""

from __future__ import annotations

from datetime import date, datetime

from django.db.models import QuerySet

from governance.budgets import queries as budgets
from governance.kernel.errors import Missing
from governance.kernel.periods import add_months
from governance.kernel.reasons import N_, Reason
from governance.rentals.models import Charge, Month

NOTHING_TO_CLOSE = Reason("nothing_to_close", N_("No month that is over waits to be closed."))


def months() -> QuerySet[Month]:
    """Closed months, newest first."""
    return Month.objects.all()


def is_closed(day: date) -> bool:
    """Whether the day's month is closed."""
    return Month.objects.filter(month=day.replace(day=1)).exists()


def closed_month(year: int, month: int) -> Month:
    """A closed month, or Missing (404)."""
    found = Month.objects.filter(month__year=year, month__month=month).first()
    if found is None:
        raise Missing()
    return found


def next_month(now: datetime) -> date | None:
    """The month to close next, if it is over; with none closed yet, that of the first charge."""
    following = first_open_day()
    if following is None:
        first = Charge.objects.order_by("booked_on").values_list("booked_on", flat=True).first()
        following = None if first is None else first.replace(day=1)
    if following is None or add_months(following, 1) > budgets.local_day(now):
        return None
    return following


def first_open_day() -> date | None:
    """The first day that can still be booked: after the last closed month; None: all are open."""
    last = Month.objects.order_by("-month").values_list("month", flat=True).first()
    return None if last is None else add_months(last, 1)
