"""The statements that roll minutes up to hours and days, built from the table of columns.

All sums are of whole numbers, so that the order in which rows are read changes nothing.
"""

from __future__ import annotations

from governance.telemetry.domain.columns import BINS, ROLLED, SHARE

PEAK_RANGE = 131_072
"""More than the seconds of the longest bucket (a day of 25 hours)."""

PEAK_SCALE = 10**6

KEYS = ("card_id", "holding_id", "source")
COUNTS = ("minutes", "bandwidth_minutes", "throttled_minutes")
EVENTS = ("xid_count", "ecc_corrected_count", "ecc_uncorrected_count")
SAMPLES = (
    "samples",
    "activity_samples",
    "active_samples",
    "active_ms",
    "bandwidth_samples",
    "bandwidth_active_samples",
    "bandwidth_total",
    "bandwidth_active_total",
)
MEANS = tuple(
    name
    for rolled in ROLLED
    for name in (rolled.total, rolled.weight, rolled.active_total, rolled.active_weight)
)
LARGEST = ("memory_used_bytes", "memory_total_bytes", "temperature_c")
COLUMNS = (
    *COUNTS,
    *SAMPLES,
    *MEANS,
    *EVENTS,
    *LARGEST,
    "bandwidth_max",
    "bandwidth_peak_at",
    "histogram",
)


def _fixed(mean: str, weight: str, scale: float) -> str:
    """Sums of whole numbers under 2^53 in floating point: exact in any order, and quicker."""
    return f"sum(round(m.{mean}::float8 * m.{weight} * {scale!r}))::bigint"


def _minute_sums() -> dict[str, str]:
    sums = {
        "minutes": "count(*) FILTER (WHERE m.samples > 0)",
        "bandwidth_minutes": "count(m.bandwidth_mean)",
        "throttled_minutes": "count(*) FILTER (WHERE m.throttle <> '')",
        "samples": "sum(m.samples)",
        "activity_samples": "sum(m.samples) FILTER (WHERE m.active_samples IS NOT NULL)",
        "active_samples": "sum(m.active_samples)",
        "active_ms": "sum((m.active_samples::bigint * 120000 + m.samples)"
        " / (2 * nullif(m.samples, 0)::bigint))",
        "bandwidth_samples": "sum(m.bandwidth_samples)",
        "bandwidth_active_samples": "sum(m.bandwidth_active_samples)",
        "bandwidth_total": _fixed("bandwidth_mean", "bandwidth_samples", SHARE),
        "bandwidth_active_total": _fixed(
            "bandwidth_active_mean", "bandwidth_active_samples", SHARE
        ),
        "peak": f"max((m.bandwidth_max::float8 * {PEAK_SCALE})::bigint * {PEAK_RANGE}"
        f" + {PEAK_RANGE - 1}"
        " - ((m.minute - m.first) * 60 + coalesce(m.bandwidth_max_at, 0)))",
    }
    for rolled in ROLLED:
        name, scale = rolled.figure.name, rolled.figure.scale or 1
        sums[rolled.total] = _fixed(name, "samples", scale)
        sums[rolled.weight] = f"sum(m.samples) FILTER (WHERE m.{name} IS NOT NULL)"
        sums[rolled.active_total] = _fixed(name, "active_samples", scale)
        sums[rolled.active_weight] = f"sum(m.active_samples) FILTER (WHERE m.{name} IS NOT NULL)"
    sums |= {name: f"sum(m.{name})" for name in EVENTS}
    sums |= {name: f"max(m.{name})" for name in LARGEST}
    return sums


def from_minutes(table: str, key: str, extra: str = "") -> str:
    """INSERT of the rolled rows for the wanted stretches of minutes.

    Parameters: arrays of card, bucket, first and last minute (half-open) and the time zone that
    holders must have ('' for any); then the least first and the greatest last minute, which let
    the planner leave out partitions. `extra` is a further column, taken from the time zone.
    """
    sums = _minute_sums()
    added = ", ".join(f"coalesce({sums[name]}, 0)" for name in (*COUNTS, *SAMPLES))
    means = ", ".join(sums[name] for name in MEANS)
    events = ", ".join(f"coalesce({sums[name]}, 0)" for name in EVENTS)
    largest = ", ".join(sums[name] for name in LARGEST)
    bins = ", ".join(
        f"coalesce(sum(m.bandwidth_active_samples) FILTER (WHERE m.bin = {place}), 0)"
        for place in range(BINS)
    )
    names = ", ".join((*KEYS, key, *([extra] if extra else []), *COLUMNS))
    zone = ", max(m.zone)" if extra else ""
    peak = sums["peak"]
    return f"""
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(%s::int[], %s::{"date" if extra else "int"}[], %s::int[], %s::int[],
        %s::text[]) AS w(card_id, bucket, first, last, zone)
), held AS MATERIALIZED (
    SELECT h.id, h.card_id, t.timezone AS zone,
        ceil(extract(epoch FROM lower(h.span)) / 60)::bigint AS since,
        CASE WHEN upper_inf(h.span) THEN 9223372036854775807
            ELSE ceil(extract(epoch FROM upper(h.span)) / 60)::bigint END AS until
    FROM telemetry_cardholding h
    JOIN accounts_project p ON p.id = h.project_id JOIN accounts_team t ON t.id = p.team_id
    WHERE NOT isempty(h.span) AND h.card_id IN (SELECT card_id FROM wanted)
), marked AS (
    SELECT m.*, w.bucket, w.first, w.zone, coalesce(h.id, 0) AS holding_id,
        CASE WHEN m.fidelity = 0 THEN 0 ELSE m.source END AS metric_source,
        least({BINS - 1}, (m.bandwidth_active_mean::float8 * 1000000)::bigint / {10**6 // BINS})
            AS bin
    FROM wanted w
    JOIN telemetry_minutesample m ON m.card_id = w.card_id
        AND m.minute >= w.first AND m.minute < w.last AND m.minute >= %s AND m.minute < %s
    LEFT JOIN held h ON h.card_id = m.card_id AND m.minute >= h.since AND m.minute < h.until
    WHERE w.zone = '' OR w.zone = coalesce(h.zone, (SELECT timezone FROM accounts_organisation))
)
INSERT INTO {table} ({names})
SELECT m.card_id, m.holding_id, m.metric_source, m.bucket{zone}, {added}, {means}, {events},
    {largest}, ({peak} / {PEAK_RANGE})::float8 / {PEAK_SCALE},
    max(m.first)::bigint * 60 + {PEAK_RANGE - 1} - {peak} %% {PEAK_RANGE},
    ARRAY[{bins}]::bigint[]
FROM marked m GROUP BY 1, 2, 3, 4
"""


def days_from_hours() -> str:
    """INSERT of days out of hours. Parameters: arrays of card, day, first and last hour
    (half-open) and time zone; then the least first and the greatest last hour."""
    added = ", ".join(f"sum({name})" for name in (*COUNTS, *SAMPLES, *MEANS, *EVENTS))
    largest = ", ".join(f"max({name})" for name in LARGEST)
    bins = ", ".join(f"sum(histogram[{place + 1}])" for place in range(BINS))
    names = ", ".join((*KEYS, "day", "timezone", *COLUMNS))
    return f"""
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(%s::int[], %s::date[], %s::int[], %s::int[], %s::text[])
        AS w(card_id, day, first, last, zone)
)
INSERT INTO telemetry_usageday ({names})
SELECT u.card_id, u.holding_id, u.source, w.day, w.zone, {added}, {largest},
    max(bandwidth_max),
    (array_agg(bandwidth_peak_at ORDER BY bandwidth_max DESC, bandwidth_peak_at)
        FILTER (WHERE bandwidth_max IS NOT NULL))[1],
    ARRAY[{bins}]::bigint[]
FROM wanted w
JOIN telemetry_usagehour u ON u.card_id = w.card_id AND u.hour >= w.first AND u.hour < w.last
    AND u.hour >= %s AND u.hour < %s
LEFT JOIN telemetry_cardholding h ON h.id = u.holding_id
LEFT JOIN accounts_project p ON p.id = h.project_id LEFT JOIN accounts_team t ON t.id = p.team_id
WHERE w.zone = coalesce(t.timezone, (SELECT timezone FROM accounts_organisation))
GROUP BY 1, 2, 3, 4, 5
"""
