"""Reminders before a rental ends, and renewing what renews itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from django.db import transaction

from governance.kernel.periods import anchored, index_at
from governance.kernel.policy import SYSTEM, Actor, require
from governance.plumbing import outbox
from governance.rentals.domain.lifecycle import RUNNING
from governance.rentals.domain.terms import UNIT_OF, PlanKind
from governance.rentals.models import Rental
from governance.rentals.services.changing import extend_rental

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


def renew_due(*, actor: Actor, now: datetime) -> int:
    """Renew, for one more period of their plan, the rentals that renew themselves and end within a
    day. A rental of which `auto_renew` was taken off (by a person, or because a card of it was
    flagged) ends as agreed."""
    require(actor, "rentals.charge")
    soon = Rental.objects.filter(
        auto_renew=True, state="active", ends_at__gt=now, ends_at__lte=now + timedelta(days=1)
    )
    renewed = 0
    for rental in soon.order_by("pk"):
        assert rental.ends_at is not None
        extend_rental(
            actor=SYSTEM,
            rental_id=rental.pk,
            ends_at=next_end(rental.plan_kind, rental.starts_at, rental.ends_at, rental.timezone),
            kind="renew",
            reason="renews itself",
            now=now,
        )
        renewed += 1
    return renewed


def next_end(plan_kind: str, start: datetime, end: datetime, zone: str) -> datetime:
    """The first boundary of the plan's periods after the end, counted from the start; metered
    plans renew by the month."""
    unit = UNIT_OF.get(cast(PlanKind, plan_kind), "hour")
    unit = "month" if unit == "hour" else unit
    tz = ZoneInfo(zone)
    return anchored(start, unit, index_at(start, unit, end, tz) + 1, tz)
