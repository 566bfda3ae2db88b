"""Usage figures from hours and days, never from minutes.

One row per group and metric source: sources are never mixed in a figure. Means are weighted by
samples. A group that held cards but has no data gets a row with unknown figures and coverage 0:
missing is not zero.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from governance.accounts.queries import organisation
from governance.kernel.errors import Invalid
from governance.kernel.periods import Period
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.telemetry.domain.columns import BINS
from governance.telemetry.domain.rollup import COUNTED, LARGEST, SUMMED, Usage, add, figures
from governance.telemetry.domain.sources import FIDELITY_OF, Fidelity, Source
from governance.telemetry.models import Kept

_LOCAL = "(to_timestamp(u.hour * 3600.0) AT TIME ZONE %(tz)s)"
GROUPS: Mapping[str, str] = {
    "card": "c.id",
    "node": "n.name",
    "maker": "c.vendor",
    "card_model": "coalesce(nullif(c.model_slug, ''), c.model_text)",
    "project": "p.slug",
    "team": "t.slug",
    "cost_centre": "cc.code",
    "rental": "h.rental_id",
    "request": "h.request_id",
    "holding": "nullif(u.holding_id, 0)",
    "day": "{day}",
    "week": "date_trunc('week', {day})::date",
    "month": "date_trunc('month', {day})::date",
    "none": "NULL",
}
"""What rows may be grouped by; a null key is time that nobody held (not attributed)."""

FILTERS: Mapping[str, str] = {
    "card": "c.id",
    "node": "n.id",
    "card_model": "c.model_slug",
    "project": "h.project_id",
    "team": "t.id",
    "cost_centre": "p.cost_centre_id",
    "rental": "h.rental_id",
    "request": "h.request_id",
    "holding": "u.holding_id",
    "maker": "c.vendor",
}

_JOINS = """
JOIN telemetry_card c ON c.id = u.card_id JOIN telemetry_node n ON n.id = c.node_id
LEFT JOIN telemetry_cardholding h ON h.id = u.holding_id
LEFT JOIN accounts_project p ON p.id = h.project_id
LEFT JOIN accounts_team t ON t.id = p.team_id
LEFT JOIN accounts_costcentre cc ON cc.id = p.cost_centre_id
"""


@dataclass
class UsageRow:
    """Figures of one group and metric source.

    `group` maps each key of `group_by` to its value (None: not attributed). `figures` are those of
    `domain.rollup.figures`. `card_hours` is the time known, `expected_card_hours` the time the
    cards were held (or, unheld, were there); coverage is their ratio. `coverage` counts minutes
    with a bandwidth figure, `known_share` minutes with any figure.
    """

    group: dict[str, object]
    source: Source
    fidelity: Fidelity
    figures: dict[str, float | int | None]
    usage: Usage
    cards: int
    card_hours: float
    expected_card_hours: float
    coverage: float | None
    known_share: float | None
    simulated: bool = False


@dataclass
class _Group:
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    expected: int = 0
    cards: int = 0
    simulated: bool = False


def usage(
    viewer: Actor,
    *,
    period: Period,
    tz: str,
    now: datetime | None = None,
    group_by: Sequence[str] = ("none",),
    filters: Mapping[str, Collection[object] | object] | None = None,
) -> list[UsageRow]:
    """Usage in the period by group and metric source, of what the viewer may see.

    `filters` maps keys of FILTERS to a value or several. Days, weeks and months are local to `tz`.
    Hours are read where they are kept and the period is cut at whole hours, else the days of
    holders whose time zone is `tz`. Invalid for an unknown key or a period that neither fits.
    """
    for key in group_by:
        if key not in GROUPS:
            raise Invalid(_unknown(key, GROUPS), "group_by")
    level = _level(period)
    scope, values = _scope(viewer, filters or {})
    values |= {"tz": tz, "org": organisation().timezone, "now": now or clock.now()}
    groups: dict[tuple[object, ...], _Group] = {}
    _read_usage(groups, level, period, group_by, scope, values)
    _read_expected(groups, period, group_by, scope, values)
    return [
        row
        for key in sorted(groups, key=lambda key: [(part is None, str(part)) for part in key])
        for row in _rows(dict(zip(group_by, key, strict=True)), groups[key])
    ]


def _unknown(key: str, known: Mapping[str, str]) -> Reason:
    return Reason(
        "group_by",
        N_("%(key)s is not known here; choose from %(known)s."),
        {"key": key, "known": ", ".join(known)},
    )


def _level(period: Period) -> str:
    kept = Kept.objects.filter(level="hours").first()
    whole = all(moment.timestamp() % 3600 == 0 for moment in (period.start, period.end))
    return "hour" if whole and (kept is None or kept.since <= period.start) else "day"


def _scope(viewer: Actor, filters: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    tests: list[str] = ["TRUE"]
    values: dict[str, object] = {}
    if "see.all" not in viewer.abilities():
        tests.append("t.id = ANY(%(teams)s)")
        values["teams"] = [team for team in getattr(viewer, "team_abilities", {}) if team]
    for key, wanted in filters.items():
        if key not in FILTERS:
            raise Invalid(_unknown(key, FILTERS), "filters")
        many = isinstance(wanted, (list, tuple, set, frozenset))
        tests.append(f"{FILTERS[key]} = ANY(%(filter_{key})s)")
        values[f"filter_{key}"] = list(wanted) if many else [wanted]  # type: ignore[call-overload]
    return " AND ".join(tests), values


def _keys(group_by: Sequence[str], day: str) -> str:
    return ", ".join(f"{GROUPS[key].format(day=day)} AS k{i}" for i, key in enumerate(group_by))


def _read_usage(
    groups: dict[tuple[object, ...], _Group],
    level: str,
    period: Period,
    group_by: Sequence[str],
    scope: str,
    values: Mapping[str, object],
) -> None:
    if level == "hour":
        day, table = f"{_LOCAL}::date", "telemetry_usagehour"
        within = "u.hour >= %(first)s AND u.hour < %(last)s"
        bounds: dict[str, object] = {
            "first": int(period.start.timestamp()) // 3600,
            "last": int(period.end.timestamp()) // 3600,
        }
    else:
        day, table = "u.day", "telemetry_usageday"
        within = (
            "u.timezone = %(tz)s"
            " AND u.day >= (%(first)s AT TIME ZONE %(tz)s)::date"
            " AND u.day < (%(last)s AT TIME ZONE %(tz)s)::date"
        )
        bounds = {"first": period.start, "last": period.end}
    sums = ", ".join(f"coalesce(sum(u.{name}), 0)::bigint AS {name}" for name in COUNTED + SUMMED)
    largest = ", ".join(f"max(u.{name}) AS {name}" for name in LARGEST)
    bins = ", ".join(f"sum(u.histogram[{place + 1}])" for place in range(BINS))
    keys = ", ".join(f"k{i}" for i in range(len(group_by)))
    sql = f"""
    SELECT {_keys(group_by, day)}, u.source, bool_or(c.simulated) AS simulated,
        array_agg(DISTINCT u.card_id) AS cards, {sums}, {largest},
        ARRAY[{bins}]::bigint[] AS histogram, max(u.bandwidth_max) AS bandwidth_max,
        (array_agg(u.bandwidth_peak_at ORDER BY u.bandwidth_max DESC, u.bandwidth_peak_at)
            FILTER (WHERE u.bandwidth_max IS NOT NULL))[1] AS bandwidth_peak_at
    FROM {table} u {_JOINS} WHERE {within} AND {scope} GROUP BY {keys}, u.source
    """
    for row in _fetch(sql, {**values, **bounds}):
        key = tuple(row[f"k{i}"] for i in range(len(group_by)))
        group = groups.setdefault(key, _Group())
        group.rows[row["source"]] = row
        group.simulated |= row["simulated"]


def _read_expected(
    groups: dict[tuple[object, ...], _Group],
    period: Period,
    group_by: Sequence[str],
    scope: str,
    values: Mapping[str, object],
) -> None:
    """Minutes for which figures should be there, by group: held spans, and for time that nobody
    held the card's span from its first to its last minute; nothing beyond now."""
    by_day = any(key in ("day", "week", "month") for key in group_by)
    days = (
        "SELECT d::date AS day, greatest(d AT TIME ZONE %(tz)s, %(start)s) AS lo,"
        " least((d + interval '1 day') AT TIME ZONE %(tz)s, %(end)s) AS hi"
        " FROM generate_series(date_trunc('day', %(start)s AT TIME ZONE %(tz)s),"
        " %(end)s AT TIME ZONE %(tz)s, interval '1 day') AS d"
        if by_day
        else "SELECT NULL::date AS day, %(start)s::timestamptz AS lo, %(end)s::timestamptz AS hi"
    )
    keys = ", ".join(f"k{i}" for i in range(len(group_by)))
    sql = f"""
    WITH days AS ({days}), held AS (
        SELECT h.card_id, h.id AS holding_id, d.day,
            greatest(d.lo, lower(h.span)) AS lo, least(d.hi, upper(h.span), %(now)s) AS hi
        FROM telemetry_cardholding h CROSS JOIN days d WHERE NOT isempty(h.span)
    ), there AS (
        SELECT c.id AS card_id, d.day, greatest(d.lo, to_timestamp(c.first_minute * 60.0)) AS lo,
            least(d.hi, to_timestamp(c.last_minute * 60.0 + 60)) AS hi
        FROM telemetry_card c CROSS JOIN days d WHERE c.first_minute IS NOT NULL
    ), spans AS (
        SELECT card_id, holding_id, day, round(extract(epoch FROM hi - lo) / 60) AS minutes
        FROM held WHERE hi > lo
        UNION ALL
        SELECT t.card_id, 0, t.day, round(extract(epoch FROM t.hi - t.lo) / 60
            - coalesce((SELECT sum(extract(epoch FROM least(g.hi, t.hi) - greatest(g.lo, t.lo)))
                FROM held g WHERE g.card_id = t.card_id AND g.day IS NOT DISTINCT FROM t.day
                AND least(g.hi, t.hi) > greatest(g.lo, t.lo)), 0) / 60)
        FROM there t WHERE t.hi > t.lo
    )
    SELECT {_keys(group_by, "u.day")}, bool_or(c.simulated) AS simulated,
        count(DISTINCT u.card_id) AS cards, sum(u.minutes) AS minutes
    FROM spans u {_JOINS} WHERE u.minutes > 0 AND {scope} GROUP BY {keys}
    """
    bounds = {"start": period.start, "end": period.end}
    for row in _fetch(sql, {**values, **bounds}):
        key = tuple(row[f"k{i}"] for i in range(len(group_by)))
        group = groups.setdefault(key, _Group())
        group.expected += int(row["minutes"])
        group.cards = row["cards"]
        group.simulated |= row["simulated"]


def _fetch(sql: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _rows(group: dict[str, object], found: _Group) -> list[UsageRow]:
    rows = found.rows or {int(Source.UNKNOWN): _nothing()}
    answer = []
    for code, row in sorted(rows.items(), reverse=True):
        source = Source(code)
        total = add([row])
        expected = max(found.expected, total.sums["minutes"])
        answer.append(
            UsageRow(
                group=group,
                source=source,
                fidelity=FIDELITY_OF[source],
                figures=figures(total),
                usage=total,
                cards=len(row["cards"]) or found.cards,
                card_hours=total.sums["minutes"] / 60,
                expected_card_hours=expected / 60,
                coverage=total.sums["bandwidth_minutes"] / expected if expected else None,
                known_share=total.sums["minutes"] / expected if expected else None,
                simulated=found.simulated,
            )
        )
    return answer


def _nothing() -> dict[str, Any]:
    return {
        **dict.fromkeys(COUNTED + SUMMED, 0),
        **dict.fromkeys(LARGEST),
        "histogram": [0] * BINS,
        "bandwidth_max": None,
        "bandwidth_peak_at": None,
        "cards": [],
    }


def instant_of(seconds: int | None) -> datetime | None:
    """Unix seconds (as `bandwidth_peak_at`) as an aware time."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
