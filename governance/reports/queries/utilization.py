"""How far the paid cards' bandwidth was used: one row per group and metric source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from governance.accounts import queries as accounts
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals import queries as rentals
from governance.reports.domain.registry import ENOUGH
from governance.reports.domain.tables import Column, Result
from governance.reports.queries.base import Params, answer, report
from governance.reports.queries.names import ids
from governance.telemetry import queries as telemetry
from governance.telemetry.domain.rollup import Usage, add, figures
from governance.telemetry.queries import UsageRow
from governance.telemetry.queries.cards import cards_for
from governance.telemetry.queries.usage import instant_of

COLUMNS = (
    Column("group", N_("Group"), sub="source_word"),
    Column("from", ""),
    Column("to", ""),
    Column(
        "bandwidth_share_mean",
        N_("Share, all time"),
        "share",
        formula="bandwidth_share_mean",
        measured=True,
    ),
    Column(
        "bandwidth_share_active_mean",
        N_("Share, active time"),
        "share",
        formula="bandwidth_share_active_mean",
        measured=True,
    ),
    Column("bandwidth_share_p50", "P50", "share", formula="bandwidth_share_p50", measured=True),
    Column("bandwidth_share_p95", "P95", "share", formula="bandwidth_share_p95", measured=True),
    Column(
        "bandwidth_share_max",
        N_("Peak"),
        "share",
        formula="bandwidth_share_max",
        measured=True,
        sub="bandwidth_peak_at",
    ),
    Column("bandwidth_peak_at", "", "moment"),
    Column(
        "under_30_time_share",
        N_("Time under 30 %"),
        "share",
        formula="under_30_time_share",
        measured=True,
    ),
    Column("active_share", N_("Active"), "share", formula="active_share", measured=True),
    Column("gpu_duty_mean", N_("GPU utilisation"), "share", formula="gpu_duty_mean", measured=True),
    Column("memory_duty_mean", ""),
    Column("memory_duty_active_mean", ""),
    Column("sm_share_mean", "SM", "share", formula="sm_mean", measured=True),
    Column("tensor_share_mean", N_("Tensor"), "share", formula="tensor_mean", measured=True),
    Column(
        "memory_used_peak_bytes",
        N_("Memory peak"),
        "bytes",
        formula="memory_used_peak_bytes",
        measured=True,
    ),
    Column(
        "power_mean_w", N_("Power"), "number", "W", formula="power_w_mean", measured=True, places=0
    ),
    Column("cards", N_("Cards"), "count"),
    Column("card_hours", N_("Card-hours"), "hours"),
    Column("coverage", N_("Coverage"), "share", formula="coverage"),
    Column("metric_source", ""),
    Column("fidelity", ""),
    Column("simulated", ""),
)
_DIRECT = {
    "card",
    "node",
    "card_model",
    "project",
    "team",
    "cost_centre",
    "rental",
    "request",
    "day",
    "week",
    "month",
    "none",
}
GROUPS = (
    "team",
    "project",
    "card",
    "node",
    "vendor",
    "card_model",
    "cost_centre",
    "rental",
    "request",
    "plan",
    "day",
    "week",
    "month",
    "none",
)
FILTERS = ("team", "project", "card_model", "card", "rental", "request", "node")


@report(
    "utilization",
    N_("Utilisation"),
    N_("How much of the rented memory bandwidth is used, by whom, and where it is under 30 %?"),
    groups=GROUPS,
    filters=FILTERS,
    several=True,
)
def utilization(viewer: Actor, params: Params) -> Result:
    """Means are weighted by samples; sources stay apart, in the total too (one row each)."""
    found = grouped_usage(viewer, params, params.group_by)
    rows = [_row(row, params) for row in found]
    return answer(
        "utilization", params, COLUMNS, rows, total=_total(found, params), notes=_notes(found)
    )


def grouped_usage(viewer: Actor, params: Params, group_by: tuple[str, ...]) -> list[UsageRow]:
    """Usage by any group of the contract. Vendor and plan come by way of the rentals; both are
    sums of roll-ups, so the figures are those of one direct grouping."""
    filters = ids(viewer, params.filters)
    through = [name for name in group_by if name not in _DIRECT]
    asked = tuple("rental" if name in through else name for name in group_by)
    found = telemetry.usage(
        viewer,
        period=params.period,
        tz=params.timezone,
        now=params.now,
        group_by=tuple(dict.fromkeys(asked)),
        filters=filters,
    )
    found = _own_expectation(viewer, params, asked, found)
    if through:
        found = _by_rental(viewer, found, group_by)
    return _labelled(viewer, found, group_by)


MOST_CARDS = 2_000
"""Above so many cards a source's share of the rented time is taken by its number of cards."""


def _own_expectation(
    viewer: Actor, params: Params, keys: tuple[str, ...], found: list[UsageRow]
) -> list[UsageRow]:
    """Coverage of each source against the time of the cards that report by it: cards of another
    source are rows of their own, not holes in this one. A group with one source keeps its own."""
    several: dict[tuple[object, ...], list[UsageRow]] = {}
    for row in found:
        several.setdefault(tuple(row.group.values()), []).append(row)
    mixed_rows = [rows for rows in several.values() if len(rows) > 1]
    if not mixed_rows:
        return found
    expected: dict[tuple[object, ...], float] = {}
    if "card" not in keys and max(r.cards for rows in mixed_rows for r in rows) <= MOST_CARDS:
        for row in telemetry.usage(
            viewer,
            period=params.period,
            tz=params.timezone,
            now=params.now,
            group_by=(*keys, "card"),
            filters=ids(viewer, params.filters),
        ):
            key = (*(row.group[name] for name in keys), row.source)
            expected[key] = expected.get(key, 0.0) + row.expected_card_hours
    for rows in mixed_rows:
        cards = sum(row.cards for row in rows)
        for row in rows:
            by_number = row.expected_card_hours * row.cards / cards if cards else 0.0
            hours = expected.get((*row.group.values(), row.source), by_number)
            hours = max(hours, row.card_hours)
            row.expected_card_hours = hours
            row.known_share = row.card_hours / hours if hours else None
            minutes = row.usage.sums["bandwidth_minutes"]
            row.coverage = minutes / 60 / hours if hours else None
    return found


def _by_rental(
    viewer: Actor, found: Iterable[UsageRow], group_by: tuple[str, ...]
) -> list[UsageRow]:
    facts = {
        pk: {"vendor": vendor, "plan": plan}
        for pk, vendor, plan in rentals.rentals_visible_to(viewer).values_list(
            "pk", "vendor", "plan_kind"
        )
    }
    merged: dict[tuple[object, ...], list[UsageRow]] = {}
    for row in found:
        rental = facts.get(row.group.get("rental"), {})  # type: ignore[call-overload]
        key = (
            *(
                rental.get(name) if name in ("vendor", "plan") else row.group[name]
                for name in group_by
            ),
            row.source,
        )
        merged.setdefault(key, []).append(row)
    return [
        merge(dict(zip(group_by, key[:-1], strict=True)), parts) for key, parts in merged.items()
    ]


def merge(group: dict[str, object], parts: list[UsageRow]) -> UsageRow:
    """Rows of one source as one row."""
    total = add([as_columns(part.usage) for part in parts])
    expected = sum(part.expected_card_hours for part in parts)
    hours = sum(part.card_hours for part in parts)
    return UsageRow(
        group=group,
        source=parts[0].source,
        fidelity=parts[0].fidelity,
        figures=figures(total),
        usage=total,
        cards=sum(part.cards for part in parts),
        card_hours=hours,
        expected_card_hours=expected,
        coverage=total.sums["bandwidth_minutes"] / 60 / expected if expected else None,
        known_share=hours / expected if expected else None,
        simulated=any(part.simulated for part in parts),
    )


def as_columns(usage: Usage) -> dict[str, Any]:
    """Sums as the roll-up's columns, to be added up again."""
    empty = dict.fromkeys(("memory_used_bytes", "memory_total_bytes", "temperature_c"))
    return {
        **usage.sums,
        **empty,
        **usage.largest,
        "histogram": usage.histogram,
        "bandwidth_max": usage.bandwidth_max,
        "bandwidth_peak_at": usage.bandwidth_peak_at,
    }


def _labelled(viewer: Actor, found: list[UsageRow], group_by: tuple[str, ...]) -> list[UsageRow]:
    """Cards by their label and teams and projects by name instead of an id or slug."""
    names: dict[str, Mapping[Any, str]] = {}
    if "card" in group_by:
        names["card"] = {card.pk: str(card) for card in cards_for(viewer)}
    if "team" in group_by:
        names["team"] = dict(accounts.teams_visible_to(viewer).values_list("slug", "name"))
    if "project" in group_by:
        names["project"] = dict(accounts.projects_visible_to(viewer).values_list("slug", "name"))
    for row in found:
        for key, known in names.items():
            row.group[key] = known.get(row.group[key], row.group[key])  # type: ignore[index]
    return found


def group_text(group: Mapping[str, object]) -> str:
    """The name of a group in one cell; time that nobody held is not attributed."""
    if list(group) == ["none"]:
        return "all"
    return " · ".join("not attributed" if v is None else str(v) for v in group.values())


def _row(row: UsageRow, params: Params) -> dict[str, Any]:
    seen = row.figures
    peak = seen["bandwidth_peak_at"]
    return {
        "group": group_text(row.group),
        **{key: value for key, value in row.group.items() if key != "none"},
        "from": params.first,
        "to": params.last,
        **{
            key: seen[key]
            for key in (
                "bandwidth_share_mean",
                "bandwidth_share_active_mean",
                "bandwidth_share_p50",
                "bandwidth_share_p95",
                "bandwidth_share_max",
                "under_30_time_share",
                "active_share",
                "gpu_duty_mean",
                "memory_duty_mean",
                "memory_duty_active_mean",
                "memory_used_peak_bytes",
            )
        },
        "bandwidth_peak_at": instant_of(None if peak is None else int(peak)),
        "sm_share_mean": seen["sm_mean"],
        "tensor_share_mean": seen["tensor_mean"],
        "power_mean_w": seen["power_w_mean"],
        "cards": row.cards,
        "card_hours": round(row.card_hours, 4),
        "expected_card_hours": row.expected_card_hours,
        "coverage": row.known_share,
        "incomplete": row.known_share is None or row.known_share < ENOUGH,
        "metric_source": row.source.name.lower(),
        "source_word": row.source.name.lower(),
        "fidelity": row.fidelity.name.lower(),
        "simulated": row.simulated,
    }


def _total(found: list[UsageRow], params: Params) -> dict[str, Any]:
    """Of all rows where they are of one source; sources are never averaged together."""
    if len({row.source for row in found}) != 1:
        return {"card_hours": round(sum(row.card_hours for row in found), 4)}
    total = _row(merge({"none": None}, found), params)
    if params.group_by and params.group_by != ("card",):
        total["cards"] = None
    return {**total, "group": None}


def _notes(found: list[UsageRow]) -> list[Reason]:
    notes = []
    sources = sorted({row.source.name.lower() for row in found})
    if len(sources) > 1:
        text = N_("Sources are never averaged together: %(sources)s stand in rows of their own.")
        notes.append(Reason("sources", text, {"sources": ", ".join(sources)}))
    short = [row for row in found if row.known_share is None or row.known_share < ENOUGH]
    if short:
        text = N_("%(rows)d rows cover less than %(share)d %% of their time and are incomplete.")
        notes.append(Reason("coverage", text, {"rows": len(short), "share": round(100 * ENOUGH)}))
    if any(row.fidelity.name == "DUTY_BOUND" for row in found):
        text = N_("A duty cycle is a share of time: bandwidth is at most that, under or over 30 %.")
        notes.append(Reason("duty", text))
    if any(row.simulated for row in found):
        notes.append(Reason("simulated", N_("Some readings are simulated.")))
    return notes
