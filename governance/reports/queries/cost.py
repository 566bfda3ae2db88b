"""What was paid and what was used of it, by team, project, vendor, card model, plan or time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from governance.kernel.money import currency_places, round_exact
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals import queries as rentals
from governance.reports.domain.kpis import idle_hours
from governance.reports.domain.tables import Column, Result
from governance.reports.queries.base import Params, answer, report
from governance.reports.queries.names import ids
from governance.telemetry import queries as telemetry

ZERO = Decimal(0)
HOURLY = ("hourly", "spot")
STEPS = ("day", "week", "month")
GROUPS = (
    "team",
    "project",
    "vendor",
    "card_model",
    "plan",
    "cost_centre",
    "rental",
    "request",
    *STEPS,
    "none",
)
FILTERS = ("team", "project", "vendor", "card_model", "plan", "rental")
_LOOKUPS = {
    "team": "rental__project__team_id",
    "project": "rental__project_id",
    "vendor": "rental__vendor",
    "card_model": "rental__card_model",
    "plan": "rental__plan_kind",
    "rental": "rental_id",
}


def lookups(viewer: Actor, filters: Mapping[str, str]) -> dict[str, object]:
    """Filters of the address as lookups of the daily cost."""
    return {_LOOKUPS[name]: value for name, value in ids(viewer, filters).items()}


@report(
    "cost",
    N_("Cost"),
    N_("What did the cards cost, by whom, and how much of it was paid for idle time?"),
    groups=GROUPS,
    filters=FILTERS,
)
def cost(viewer: Actor, params: Params) -> Result:
    """Net of tax. `billed` counts on the day of the charge, `amortised` on the days it pays for.
    `idle` is amortised cost of hourly cards' known idle time, `unused` that of prepaid cards;
    None where nothing was measured. Totals are per currency, never mixed."""
    by = params.group_by[0]
    shares = idle_shares(viewer, params, by if by in STEPS else None)
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    keys = ("rental", "plan") if by in ("rental", "plan", "none") else ("rental", "plan", by)
    for row in rentals.cost_rows(
        viewer,
        first=params.first,
        last=params.last,
        group_by=keys,
        filters=lookups(viewer, params.filters),
    ):
        rental, plan = int(row.group[0]), row.group[1]
        name = {"rental": f"R{rental}", "plan": plan, "none": "all"}.get(by, row.group[-1])
        name = name[:10] if by in STEPS else name
        entry = sums.setdefault((name, row.currency), _nothing())
        entry["billed"] += row.billed
        entry["amortised"] += row.amortised
        entry["tax"] += row.tax
        entry["charges"] += row.charges
        share = shares.get((rental, name if by in STEPS else None))
        if share is not None:
            part = "idle" if plan in HOURLY else "unused"
            entry[part] = (entry[part] or Fraction(0)) + Fraction(row.amortised) * share
    rows = [_row(name, currency, entry) for (name, currency), entry in sorted(sums.items())]
    notes = [Reason("net", N_("Net of tax. Idle and unused cost is that of measured time only."))]
    columns = (
        Column("group", N_("Group")),
        Column("billed", N_("Billed"), "money"),
        Column("amortised", N_("Amortised"), "money"),
        Column("idle", N_("Idle, by the hour"), "money", formula="idle_cost", measured=True),
        Column("unused", N_("Unused, prepaid"), "money", formula="idle_cost", measured=True),
        Column("tax", N_("Tax billed"), "money"),
        Column("currency", N_("Currency")),
        Column("charges", N_("Charges"), "count"),
    )
    return answer("cost", params, columns, rows, total=total_of(rows), notes=notes + mixed(rows))


def _nothing() -> dict[str, Any]:
    return {
        "billed": ZERO,
        "amortised": ZERO,
        "tax": ZERO,
        "charges": 0,
        "idle": None,
        "unused": None,
    }


def _row(name: str, currency: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    places = currency_places(currency)
    amounts = {
        key: None if entry[key] is None else round_exact(entry[key], places)
        for key in ("billed", "amortised", "tax", "idle", "unused")
    }
    return {"group": name, "currency": currency, "charges": entry["charges"], **amounts}


def total_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of the lines where they are of one currency, else nothing."""
    rows = list(rows)
    if len({row["currency"] for row in rows}) != 1:
        return {}
    total: dict[str, Any] = {"currency": rows[0]["currency"]}
    for key in ("billed", "amortised", "tax", "charges", "idle", "unused"):
        known = [row[key] for row in rows if row.get(key) is not None]
        total[key] = sum(known[1:], known[0]) if known else None
    return total


def mixed(rows: Iterable[Mapping[str, Any]]) -> list[Reason]:
    """A note where lines of several currencies stand together."""
    codes = sorted({row["currency"] for row in rows if row["currency"]})
    if len(codes) < 2:
        return []
    text = N_("%(currencies)s are not added up; each line is in its own currency.")
    return [Reason("currencies", text, {"currencies": ", ".join(codes)})]


def idle_shares(
    viewer: Actor, params: Params, step: str | None
) -> dict[tuple[int, str | None], Fraction]:
    """Known idle card-hours / held card-hours, by rental (and step of time). Hours add up over
    metric sources; shares of bandwidth would not."""
    rows = telemetry.usage(
        viewer,
        period=params.period,
        tz=params.timezone,
        now=params.now,
        group_by=("rental", step) if step else ("rental",),
    )
    idle: dict[tuple[int, str | None], float] = {}
    held: dict[tuple[int, str | None], float] = {}
    for row in rows:
        rental = row.group["rental"]
        if rental is None:
            continue
        when = row.group[step] if step else None
        key = (int(str(rental)), when.isoformat()[:10] if isinstance(when, date) else None)
        held[key] = row.expected_card_hours
        hours = idle_hours(row.card_hours, row.figures["active_share"])
        if hours is not None:
            idle[key] = idle.get(key, 0.0) + hours
    return {
        key: min(Fraction(1), Fraction(hours) / Fraction(held[key]))
        for key, hours in idle.items()
        if held[key]
    }
