"""Who hears that a rental is about to end (its team, and those who buy); approved changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from governance.accounts import queries as accounts
from governance.kernel.reasons import N_
from governance.notices.services import tell
from governance.plumbing import clock
from governance.plumbing.outbox import handler
from governance.rentals import queries, services

ENDING = N_("The rental %(rental)s ends on %(day)s; extend it or let it end.")
RENEWING = N_("The rental %(rental)s renews itself on %(day)s; say so if it should not.")


@handler("rentals.ending")
def hear(payload: Mapping[str, Any]) -> None:
    """Tell once per mark (30, 14, 7, 1 days) and end; an end that has moved is told no more."""
    now = clock.now()
    day = accounts.local_day(now)
    rental = queries.by_id(payload["rental_id"])
    ends_at = datetime.fromisoformat(payload["ends_at"])
    if rental.ends_at != ends_at:
        return
    people = set(accounts.holders("rentals.manage", day).values_list("pk", flat=True))
    people |= {one.user_id for one in accounts.members_of(rental.project.team, day)}
    tell(
        kind="rentals",
        text=RENEWING if rental.auto_renew else ENDING,
        params={
            "rental": str(rental),
            "day": f"{ends_at.astimezone(ZoneInfo(rental.timezone)):%Y-%m-%d}",
        },
        url=f"/rentals/{rental.pk}/",
        key=f"rental:{rental.pk}:{payload['ends_at']}:{payload['days']}",
        people=people,
        project_id=rental.project_id,
        team_id=rental.project.team_id,
        now=now,
    )


@handler("request.approved")
def follow(payload: Mapping[str, Any]) -> None:
    """An approved change of a running request is made on its rental, once."""
    services.follow_request(request_id=payload["request"], now=clock.now())
