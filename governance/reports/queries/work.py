"""What schedulers allotted, beside what was truly used; and who ran how many jobs."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from governance.kernel.money import round_exact
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.reports.domain.tables import Column, Result
from governance.reports.queries.base import Params, answer, report
from governance.telemetry import queries as telemetry
from governance.telemetry.queries import work

_UNITS = {"second": 1, "minute": 60, "hour": 3600}


def hours(seconds: int) -> Decimal:
    """Card-seconds as card-hours at four places."""
    return round_exact(Fraction(seconds, 3600), 4)


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@report(
    "occupancy",
    N_("Occupancy"),
    N_("How much of what each group owns did the scheduler allot, and how much was truly used?"),
    groups=("group", "day", "week", "month", "none"),
    filters=("group",),
)
def occupancy(viewer: Actor, params: Params) -> Result:
    """The share of all is summed hours over summed hours, not the mean of the groups' shares.
    `used_share` stands where cards of a team of the same name (slug) report."""
    by = params.group_by[0]
    groups = tuple(filter(None, [params.filters.get("group", "")]))
    found = work.occupancy(viewer, period=params.period, tz=params.zone, by=by, groups=groups)
    used = _used(viewer, params) if by == "group" else {}
    rows: list[dict[str, Any]] = [
        {
            "group": row.group or _step(row.step) or "all",
            "owned_gpu_hours": hours(row.owned_seconds),
            "allotted_gpu_hours": hours(row.allotted_seconds),
            "allotted_share": share(row.allotted_seconds, row.owned_seconds),
            "used_share": used.get(row.group),
        }
        for row in found
    ]
    owned = sum(row.owned_seconds for row in found)
    allotted = sum(row.allotted_seconds for row in found)
    total = {
        "owned_gpu_hours": hours(owned),
        "allotted_gpu_hours": hours(allotted),
        "allotted_share": share(allotted, owned),
    }
    columns = (
        Column("group", N_("Group")),
        Column("owned_gpu_hours", N_("Owned"), "hours", N_("card-hours")),
        Column("allotted_gpu_hours", N_("Allotted"), "hours", N_("card-hours")),
        Column("allotted_share", N_("Allotted share"), "share"),
        Column("used_share", N_("Used (active time)"), "share", measured=True),
    )
    notes = [Reason("allotted", N_("Allotted by a scheduler is not the same as used."))]
    return answer("occupancy", params, columns, rows, total=total if rows else {}, notes=notes)


def _step(step: object) -> str:
    if isinstance(step, datetime):
        return step.date().isoformat()
    return "" if step is None else str(step)


def _used(viewer: Actor, params: Params) -> dict[object, float]:
    """Active share of the cards of each team, by slug; only where one source covers them."""
    found: dict[object, list[float | None]] = {}
    for row in telemetry.usage(
        viewer, period=params.period, tz=params.timezone, now=params.now, group_by=("team",)
    ):
        found.setdefault(row.group["team"], []).append(row.figures["active_share"])
    return {
        team: shares[0]
        for team, shares in found.items()
        if len(shares) == 1 and shares[0] is not None
    }


@report(
    "jobs",
    N_("Jobs"),
    N_("Who ran how many jobs, and how much card-time did they take?"),
    groups=("group", "person", "none"),
    filters=("group",),
)
def jobs(viewer: Actor, params: Params) -> Result:
    """`gpu_time` is cards x duration in the time unit of the file it came from."""
    by = params.group_by[0]
    groups = tuple(filter(None, [params.filters.get("group", "")]))
    found = work.jobs(viewer, period=params.period, by=by, groups=groups)
    rows = [
        {
            "group": row.group or "all",
            "jobs": row.jobs,
            "jobs_without_cards": row.without_cards,
            "gpu_time": gpu_time(row.card_seconds, row.unit),
            "unit": row.unit,
        }
        for row in found
    ]
    units = {row.unit for row in found}
    total: dict[str, Any] = {
        "jobs": sum(row.jobs for row in found),
        "jobs_without_cards": sum(row.without_cards for row in found),
    }
    if len(units) == 1:
        unit = units.pop()
        total |= {"gpu_time": gpu_time(sum(r.card_seconds for r in found), unit), "unit": unit}
    columns = (
        Column("group", N_("Group")),
        Column("jobs", N_("Jobs"), "count"),
        Column("jobs_without_cards", N_("Jobs without cards"), "count"),
        Column("gpu_time", N_("Card-time"), "number"),
        Column("unit", N_("Unit")),
    )
    return answer("jobs", params, columns, rows, total=total if rows else {})


def gpu_time(card_seconds: int, unit: str) -> Decimal | int:
    """Card-time in the file's unit; a whole number stays one."""
    value = Fraction(card_seconds, _UNITS.get(unit, 1))
    return value.numerator if value.denominator == 1 else round_exact(value, 4)
