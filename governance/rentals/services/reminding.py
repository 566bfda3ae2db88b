"""Reminders before a rental ends, and renewing what renews itself."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from governance.kernel.policy import Actor, require
from governance.plumbing import outbox
from governance.rentals.domain.lifecycle import RUNNING
from governance.rentals.models import Rental

DAYS_AHEAD = (30, 14, 7, 1)


def remind(*, actor: Actor, now: datetime) -> int:
    """One outbox event per rental and mark that has come near; a missed day is made up for by the
    nearest mark, and a mark is told once for each end."""
    require(actor, "rentals.charge")
    told = 0
    soon = Rental.objects.filter(
        state__in=RUNNING, ends_at__gt=now, ends_at__lte=now + timedelta(days=max(DAYS_AHEAD))
    )
    with transaction.atomic():
        for rental in soon.order_by("pk"):
            assert rental.ends_at is not None
            left = rental.ends_at - now
            mark = min(days for days in DAYS_AHEAD if left <= timedelta(days=days))
            outbox.emit(
                kind="rentals.ending",
                payload={
                    "rental_id": rental.pk,
                    "days": mark,
                    "ends_at": rental.ends_at.isoformat(),
                    "auto_renew": rental.auto_renew,
                },
                key=f"rental:{rental.pk}:ending:{rental.ends_at:%Y%m%d%H%M}:{mark}",
            )
            told += 1
    return told
