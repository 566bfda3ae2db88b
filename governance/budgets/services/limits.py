"""Making budgets, changing limits, and letting one be exceeded."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.db import IntegrityError, transaction

from governance.accounts import queries as accounts
from governance.budgets.models import Budget, Overdraft
from governance.kernel.errors import Invalid
from governance.kernel.money import currency_places, round_exact
from governance.kernel.periods import Unit, anchored, calendar_start, local_midnight
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks

_UNITS: dict[str, Unit] = {"month": "month", "quarter": "quarter", "year": "year"}


def create_budget(
    *,
    actor: Actor,
    unit: str,
    first_day: date,
    currency: str,
    limit: Decimal,
    team_id: int | None = None,
    project_id: int | None = None,
    cost_centre_id: int | None = None,
    with_tax: bool = True,
) -> int:
    """A budget of one owner for the calendar month, quarter or year that begins on `first_day`.

    Days are those of the team's time zone (a cost centre's: the organisation's). Invalid if the
    day is not the period's first, the owner is not exactly one, or there is one already.
    """
    require(actor, "budgets.manage")
    if [team_id, project_id, cost_centre_id].count(None) != 2:
        raise _invalid("owner", N_("Choose one owner: a team, a project or a cost centre."))
    if unit not in _UNITS:
        raise _invalid("unit", N_("Choose a month, a quarter or a year."))
    check_amount(limit, currency, "limit")
    zone = ZoneInfo(_zone_name(team_id, project_id))
    start = local_midnight(first_day, zone)
    if calendar_start(start, _UNITS[unit], zone) != start:
        raise _invalid("first_day", N_("The first day must begin the month, quarter or year."))
    budget = Budget(
        team_id=team_id,
        project_id=project_id,
        cost_centre_id=cost_centre_id,
        unit=unit,
        starts_at=start,
        ends_at=anchored(start, _UNITS[unit], 1, zone),
        timezone=zone.key,
        currency=currency,
        limit=limit,
        with_tax=with_tax,
    )
    try:
        with transaction.atomic():
            budget.save()
            audit.record(
                actor=actor, act="budgets.create", thing=budget,
                after={"limit": str(limit), "currency": currency, "period": budget.label},
            )  # fmt: skip
    except IntegrityError as error:
        if "one_budget_a_period" not in str(error):
            raise
        raise _invalid("first_day", N_("There is a budget for this owner and period.")) from error
    return budget.pk


def change_limit(*, actor: Actor, budget_id: int, limit: Decimal, reason: str) -> None:
    """Set a new limit; below what is held and spent it stops new holds and takes nothing back."""
    require(actor, "budgets.manage")
    if not reason.strip():
        raise _invalid("reason", N_("A reason is needed."))
    with transaction.atomic():
        budget = locks.lock_one(Budget.objects.all(), budget_id)
        check_amount(limit, budget.currency, "limit")
        before, budget.limit = budget.limit, limit
        budget.save(update_fields=["limit"])
        audit.record(
            actor=actor, act="budgets.change_limit", thing=budget, reason=reason,
            before={"limit": str(before)}, after={"limit": str(limit)},
        )  # fmt: skip


def grant_overdraft(
    *,
    actor: Actor,
    budget_id: int,
    amount: Decimal,
    reason: str,
    expires_at: datetime,
    now: datetime,
) -> int:
    """Let a budget be exceeded by an amount until a time; finance only, with a reason."""
    require(actor, "budgets.overdraft")
    if not reason.strip():
        raise _invalid("reason", N_("A reason is needed."))
    if expires_at <= now:
        raise _invalid("expires_at", N_("The overdraft must end in the future."))
    with transaction.atomic():
        budget = locks.lock_one(Budget.objects.all(), budget_id)
        check_amount(amount, budget.currency, "amount", positive=True)
        overdraft = Overdraft.objects.create(
            budget=budget,
            amount=amount,
            reason=reason,
            granted_by=actor.display,
            granted_at=now,
            expires_at=expires_at,
        )
        audit.record(
            actor=actor, act="budgets.overdraft", thing=budget, reason=reason,
            after={"amount": str(amount), "expires_at": expires_at.isoformat()},
        )  # fmt: skip
        return overdraft.pk


def check_amount(amount: Decimal, currency: str, field: str, *, positive: bool = False) -> None:
    """Invalid unless the amount is 0 or more (or above 0), below a trillion, in whole cents."""
    try:
        places = currency_places(currency)
    except ValueError as error:
        raise _invalid(
            "currency", N_("This is no currency code of ISO 4217, such as CNY.")
        ) from error
    if not amount.is_finite() or amount < 0 or (positive and not amount):
        raise _invalid(field, N_("The amount must be above zero."))
    if amount >= 10**11 or round_exact(amount, places) != amount:
        raise _invalid(field, N_("The amount must be below 100 billion and in whole cents."))


def _zone_name(team_id: int | None, project_id: int | None) -> str:
    if project_id is not None:
        return accounts.project(project_id).team.timezone
    if team_id is not None:
        return accounts.team(team_id).timezone
    return accounts.organisation().timezone


def _invalid(field: str, text: str) -> Invalid:
    return Invalid(Reason(f"budget_{field}", text), field)
