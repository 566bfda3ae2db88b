"""Where each budget stands beside the time gone by, and where it will end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from governance.accounts import queries as accounts
from governance.budgets import queries as budgets
from governance.kernel.periods import Period, local_date, seconds
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals import queries as rentals
from governance.rentals.domain.charges import due_lines
from governance.rentals.queries.terms import terms_of
from governance.reports.domain.forecast import METHODS, Forecast, forecast
from governance.reports.domain.kpis import budget_used_share
from governance.reports.domain.tables import Column, Result
from governance.reports.queries.base import Params, answer, report
from governance.reports.queries.cost import HOURLY, ZERO

LOOK_BACK = 28


@dataclass(frozen=True, slots=True)
class Costs:
    """Cost by project and day: by use, prepaid as billed, prepaid that is still to fall due."""

    by_use: Mapping[int, Mapping[date, Decimal]]
    fixed: Mapping[int, Mapping[date, Decimal]]
    due: Mapping[int, Mapping[date, Decimal]]


@report(
    "budget",
    N_("Budgets"),
    N_("How far is each budget used beside the time gone by, and where will it end?"),
    filters=("team", "project"),
)
def budget(viewer: Actor, params: Params) -> Result:
    """Budgets that overlap the days. The forecast takes fixed fees from the contract calendar and
    a run-rate only of what is charged by use; under three full days it says so."""
    asked = budgets.visible_to(viewer).filter(
        starts_at__lt=params.period.end, ends_at__gt=params.period.start
    )
    for scope in ("team", "project"):
        if params.filters.get(scope):
            asked = asked.filter(**{f"{scope}__slug": params.filters[scope]})
    found = budgets.positions(asked, params.now)
    costs = gather(viewer, [b for b, _ in found], params.now)
    projects = _projects_of(viewer)
    rows = []
    for one, position in found:
        ends = outlook(one, costs, projects, params.now)
        if one.ends_at <= params.now:
            ends = replace(
                ends, low=position.spent, mid=position.spent, high=position.spent, method="over"
            )
        used = budget_used_share(position.spent, position.held, position.limit)
        rows.append(
            {
                "budget": str(one),
                "id": one.pk,
                "scope": one.scope,
                "period": one.label,
                "limit": position.limit,
                "held": position.held,
                "spent": position.spent,
                "free": position.free,
                "used_share": None if used is None else float(used),
                "elapsed_share": elapsed(one.period, params.now),
                "forecast_low": ends.low,
                "forecast": ends.mid,
                "forecast_high": ends.high,
                "method": METHODS[ends.method],
                "currency": one.currency,
                "over": ends.mid is not None and ends.mid > position.limit,
            }
        )
    columns = (
        Column("budget", N_("Budget")),
        Column("period", N_("Period")),
        Column("limit", N_("Limit"), "money"),
        Column("held", N_("Held"), "money"),
        Column("spent", N_("Spent"), "money"),
        Column("free", N_("Free"), "money"),
        Column("used_share", N_("Used"), "share", formula="budget_used_share"),
        Column("elapsed_share", N_("Time gone by"), "share"),
        Column("forecast_low", N_("Low (P10)"), "money"),
        Column("forecast", N_("Forecast"), "money"),
        Column("forecast_high", N_("High (P90)"), "money"),
        Column("method", N_("Method")),
        Column("currency", N_("Currency")),
    )
    notes = [Reason("forecast", N_("A forecast is fixed fees plus cost by use; P10 to P90."))]
    return answer("budget", params, columns, rows, notes=notes)


def elapsed(period: Period, now: datetime) -> float:
    """The share of the period that is over, 0..1."""
    gone = min(max(now, period.start), period.end) - period.start
    return float(seconds(gone) / seconds(period.elapsed))


def gather(viewer: Actor, rows: Iterable[Any], now: datetime) -> Costs:
    """Costs of all projects over all the budgets' periods, in a fixed number of queries."""
    rows = list(rows)
    if not rows:
        return Costs({}, {}, {})
    zone = ZoneInfo(rows[0].timezone)
    first = min(local_date(b.starts_at, zone) for b in rows)
    last = max(local_date(b.ends_at, zone) for b in rows)
    first = min(first, local_date(now, zone) - timedelta(days=LOOK_BACK))
    by_use: dict[int, dict[date, Decimal]] = {}
    fixed: dict[int, dict[date, Decimal]] = {}
    for row in rentals.cost_rows(
        viewer, first=first, last=last, group_by=("project_id", "plan", "day")
    ):
        project, plan, day = row.group
        found = (by_use if plan in HOURLY else fixed).setdefault(int(project), {})
        when = date.fromisoformat(day)
        found[when] = found.get(when, ZERO) + row.billed + row.tax
    end = max(b.ends_at for b in rows)
    return Costs(by_use, fixed, _due(viewer, end))


def _due(viewer: Actor, end: datetime) -> dict[int, dict[date, Decimal]]:
    """Prepaid lines that will fall due, by project and local day, from the rentals' terms."""
    due: dict[int, dict[date, Decimal]] = {}
    running = rentals.rentals_visible_to(viewer).exclude(next_charge_at=None)
    running = running.exclude(plan_kind__in=HOURLY).filter(next_charge_at__lt=end)
    for rental in running.prefetch_related("components", "changes"):
        zone = ZoneInfo(rental.timezone)
        days = due.setdefault(rental.project_id, {})
        changes = list(rental.changes.all())
        for component in rental.components.all():
            terms = terms_of(rental, component, changes)
            for line in due_lines(terms, after=rental.charged_until, until=end):
                if line.due < end:
                    day = local_date(line.due, zone)
                    days[day] = days.get(day, ZERO) + line.amount
    return due


def _projects_of(viewer: Actor) -> dict[tuple[str, int], set[int]]:
    found: dict[tuple[str, int], set[int]] = {}
    rows = accounts.projects_visible_to(viewer).values_list("pk", "team_id", "cost_centre_id")
    for pk, team, centre in rows:
        found.setdefault(("project", pk), set()).add(pk)
        found.setdefault(("team", team), set()).add(pk)
        if centre:
            found.setdefault(("cost_centre", centre), set()).add(pk)
    return found


def outlook(
    one: Any, costs: Costs, projects: Mapping[tuple[str, int], set[int]], now: datetime
) -> Forecast:
    """The forecast of one budget at its end."""
    owner = one.project_id or one.team_id or one.cost_centre_id
    mine = projects.get((one.scope, owner), set())
    zone = ZoneInfo(one.timezone)
    first, after = local_date(one.starts_at, zone), local_date(one.ends_at, zone)
    today = min(local_date(now, zone), after)

    def total(source: Mapping[int, Mapping[date, Decimal]], begin: date, end: date) -> Decimal:
        return sum(
            (
                amount
                for project in mine
                for day, amount in source.get(project, {}).items()
                if begin <= day < end
            ),
            ZERO,
        )

    known = [day for project in mine for day in costs.by_use.get(project, {}) if day < today]
    start = max(min(known, default=today), today - timedelta(days=LOOK_BACK))
    daily = [
        total(costs.by_use, start + timedelta(days=i), start + timedelta(days=i + 1))
        for i in range((today - start).days)
    ]
    # the day in progress stays out of the run-rate, and is among the days left
    left = (after - max(today, first)).days if after > today else 0
    return forecast(
        fixed=total(costs.fixed, first, after) + total(costs.due, first, after),
        daily=daily,
        days_left=left,
        spent=total(costs.by_use, first, today),
        weekday_next=today.weekday(),
    )
