"""Who hears that a budget has reached a mark: finance, and the leads of the team it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.accounts import queries as accounts
from governance.budgets import queries
from governance.kernel.reasons import N_
from governance.notices.services import tell
from governance.plumbing import clock
from governance.plumbing.outbox import handler

REACHED = N_("The budget %(budget)s has reached %(mark)s %% of its limit.")


@handler("budgets.threshold")
def hear(payload: Mapping[str, Any]) -> None:
    """Tell once per mark and limit; amounts stay behind the sign-in."""
    now = clock.now()
    day = accounts.local_day(now)
    budget = queries.by_id(payload["budget_id"])
    team = budget.team or (budget.project.team if budget.project else None)
    people = set(accounts.holders("budgets.manage", day).values_list("pk", flat=True))
    if team is not None:
        people |= {one.user_id for one in accounts.members_of(team, day) if one.role == "lead"}
    tell(
        kind="budgets",
        text=REACHED,
        params={"budget": str(budget), "mark": payload["mark"]},
        url=f"/budgets/{budget.pk}/",
        key=f"budget:{budget.pk}:{payload['limit']}:{payload['mark']}",
        people=people,
        project_id=budget.project_id,
        team_id=None if team is None else team.pk,
        now=now,
    )
