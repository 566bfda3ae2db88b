"""Month close: what was booked in a month is frozen with the hash of its rows."""

from __future__ import annotations

import hashlib
import json
from datetime import date, datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from governance.accounts import queries as accounts
from governance.budgets import queries as budgets
from governance.kernel.errors import Invalid, Refused
from governance.kernel.periods import add_months
from governance.kernel.policy import SYSTEM, Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks
from governance.rentals.models import Charge, Month
from governance.rentals.queries.costs import cost_rows
from governance.rentals.queries.months import first_open_day
from governance.rentals.services.charging import BOOKING

FORMAT = 1


def close_month(*, actor: Actor, month: date, now: datetime) -> int:
    """Close a month: nothing is booked into it any more, and its report is kept as it is.

    Months are closed in order and only when they are over; closing one again is Refused (409).
    """
    require(actor, "months.close")
    if month.day != 1:
        raise Invalid(Reason("month", N_("A month is named by its first day.")), "month")
    if add_months(month, 1) > budgets.local_day(now):
        raise Refused(Reason("month_runs", N_("The month is not over yet.")))
    with transaction.atomic():
        locks.hold_name(BOOKING)
        open_day = first_open_day()
        if open_day is not None and month != open_day:
            raise Refused(
                Reason(
                    "month_order",
                    N_("Months are closed in order: the next is %(month)s."),
                    {"month": f"{open_day:%Y-%m}"},
                )
            )
        digest, report = month_report(month)
        try:
            with transaction.atomic():
                row = Month.objects.create(
                    month=month,
                    closed_at=now,
                    closed_by=actor.display,
                    input_hash=digest,
                    report=report,
                )
        except IntegrityError as error:
            raise Refused(Reason("month_closed", N_("This month is closed already."))) from error
        audit.record(
            actor=actor, act="months.close", thing=row,
            after={"month": f"{month:%Y-%m}", "input_hash": digest},
        )  # fmt: skip
        return row.pk


def month_report(month: date) -> tuple[str, str]:
    """(hash of the month's charges, report text); the same charges give the same bytes."""
    last = add_months(month, 1) - timedelta(days=1)
    digest = hashlib.sha256()
    rows = Charge.objects.filter(booked_on__gte=month, booked_on__lte=last).order_by(
        "rental_id", "kind", "period_start_local", "sequence"
    )
    for row in rows.values_list(
        "rental_id", "kind", "period_start_local", "sequence", "net", "tax", "currency", "booked_on"
    ).iterator(chunk_size=5_000):
        digest.update(("\t".join(str(value) for value in row) + "\n").encode())
    groups: dict[str, Any] = {
        name: [
            {
                "group": row.group[0],
                "currency": row.currency,
                "billed": f"{row.billed.normalize():f}",
                "amortised": f"{row.amortised.normalize():f}",
                "tax": f"{row.tax.normalize():f}",
                "charges": row.charges,
            }
            for row in cost_rows(_Everyone(), first=month, last=last, group_by=[name])
        ]
        for name in ("team", "project", "cost_centre", "vendor", "plan", "rental")
    }
    report = {
        "format": FORMAT,
        "month": f"{month:%Y-%m}",
        "timezone": accounts.organisation().timezone,
        "input_hash": digest.hexdigest(),
        "groups": groups,
    }
    return digest.hexdigest(), json.dumps(report, ensure_ascii=False, sort_keys=True)


class _Everyone:
    """Reads everything: a closed month holds the whole organisation."""

    actor_key = SYSTEM.actor_key
    display = SYSTEM.display

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        return frozenset({"see.all"})
