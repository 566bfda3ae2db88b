"""What an hour or a day of a card keeps, and the figures that come from it.

Everything kept adds up: whole numbers, sums of mean x samples in fixed point, a histogram. So
hours may be added over time and cards in any order, and the figures are the same to the last
digit. No figure is an average of averages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from governance.telemetry.domain.columns import BINS, ROLLED, SHARE

COUNTED = (
    "minutes",
    "bandwidth_minutes",
    "samples",
    "activity_samples",
    "active_samples",
    "active_ms",
    "bandwidth_samples",
    "bandwidth_active_samples",
    "throttled_minutes",
    "xid_count",
    "ecc_corrected_count",
    "ecc_uncorrected_count",
)
"""Whole numbers that add up. `activity_samples` are those of which it is known whether the card
worked; `active_ms` is the time it did: each minute's active part of its samples."""

SUMMED = (
    "bandwidth_total",
    "bandwidth_active_total",
    *(
        name
        for rolled in ROLLED
        for name in (rolled.total, rolled.weight, rolled.active_total, rolled.active_weight)
    ),
)
LARGEST = ("memory_used_bytes", "memory_total_bytes", "temperature_c")

FLAG_BINS = 6
"""Bins that lie under 30 %."""


@dataclass
class Usage:
    """Sums over any number of hours of one metric source."""

    sums: dict[str, int]
    largest: dict[str, float]
    histogram: list[int]
    bandwidth_max: float | None = None
    bandwidth_peak_at: int | None = None

    def mean(self, total: str, weight: str, scale: float) -> float | None:
        """sum / scale / weight; None where nothing was measured."""
        count = self.sums.get(weight, 0)
        return self.sums.get(total, 0) / (scale * count) if count else None


def add(rows: Iterable[Mapping[str, Any]]) -> Usage:
    """Hours or days (mappings with the columns of the table) added up."""
    usage = Usage(dict.fromkeys(COUNTED + SUMMED, 0), {}, [0] * BINS)
    for row in rows:
        for name in COUNTED + SUMMED:
            usage.sums[name] += int(row[name] or 0)
        for name in LARGEST:
            value = row[name]
            if value is not None:
                usage.largest[name] = max(usage.largest.get(name, float("-inf")), value)
        for place, count in enumerate(row["histogram"]):
            usage.histogram[place] += count
        _take_peak(usage, row["bandwidth_max"], row["bandwidth_peak_at"])
    return usage


def _take_peak(usage: Usage, peak: float | None, at: int | None) -> None:
    if peak is None:
        return
    best, when = usage.bandwidth_max, usage.bandwidth_peak_at
    if best is None or peak > best or (peak == best and (at or 0) < (when or 0)):
        usage.bandwidth_max, usage.bandwidth_peak_at = peak, at


def percentile(histogram: Sequence[int], share: float) -> float | None:
    """The share under which `share` of the active samples lie, linear inside its 5 % step."""
    total = sum(histogram)
    if not total:
        return None
    wanted, seen = share * total, 0
    for place, count in enumerate(histogram):
        if count and seen + count >= wanted:
            return (place + (wanted - seen) / count) / BINS
        seen += count
    return 1.0


def time_share_under(histogram: Sequence[int], bins: int = FLAG_BINS) -> float | None:
    """Share of active samples in the lowest `bins` steps."""
    total = sum(histogram)
    return sum(histogram[:bins]) / total if total else None


def figures(usage: Usage) -> dict[str, float | int | None]:
    """Every figure a report may show of these sums; None is unknown."""
    sums = usage.sums
    known = sums["activity_samples"]
    answer: dict[str, float | int | None] = {
        "bandwidth_share_mean": usage.mean("bandwidth_total", "bandwidth_samples", SHARE),
        "bandwidth_share_active_mean": usage.mean(
            "bandwidth_active_total", "bandwidth_active_samples", SHARE
        ),
        "bandwidth_share_p50": percentile(usage.histogram, 0.5),
        "bandwidth_share_p95": percentile(usage.histogram, 0.95),
        "bandwidth_share_max": usage.bandwidth_max,
        "bandwidth_peak_at": usage.bandwidth_peak_at,
        "under_30_time_share": time_share_under(usage.histogram),
        "active_share": sums["active_samples"] / known if known else None,
        "active_hours": sums["active_ms"] / 3_600_000 if known else None,
        "memory_used_peak_bytes": usage.largest.get("memory_used_bytes"),
        "memory_total_bytes": usage.largest.get("memory_total_bytes"),
        "temperature_max_c": usage.largest.get("temperature_c"),
    }
    for rolled in ROLLED:
        scale = rolled.figure.scale or 1
        name = rolled.figure.name
        answer[f"{name}_mean"] = usage.mean(rolled.total, rolled.weight, scale)
        answer[f"{name}_active_mean"] = usage.mean(rolled.active_total, rolled.active_weight, scale)
    return answer
