"""Folding the readings of one card and one minute into a row. Pure.

Rule: the bandwidth columns come from one metric source only, the one with most readings (ties:
the better one). Unknown stays None; a mean is over the readings in which its figure is known.
"""

from __future__ import annotations

import math
from collections import Counter

from collector.model import COLUMNS, FIDELITY, MEANS, RANK, UNKNOWN, Reading

BINS = 20


def percentile(ordered: list[float], share: float) -> float:
    """Nearest-rank percentile of a sorted, non-empty list."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


def histogram(shares: list[float]) -> list[int]:
    """Counts in 20 steps of 5 %; 1.0 falls into the last one."""
    bins = [0] * BINS
    for share in shares:
        # 0.15 / 0.05 is 2.9999999999999996: the edge belongs to the upper step
        bins[min(BINS - 1, int(share * BINS + 1e-9))] += 1
    return bins


def fold(readings: list[tuple[float, Reading]]) -> dict[str, object]:
    """A row (all of COLUMNS) from ``(unix time, reading)`` pairs of one card and minute."""
    row: dict[str, object] = dict.fromkeys(COLUMNS)
    known = [(at, reading) for at, reading in readings if reading.known]
    row["samples"] = len(known)
    activity = [reading.active for _, reading in known]
    if any(active is not None for active in activity):
        row["active_samples"] = sum(active is True for active in activity)
    _fold_bandwidth(row, known)
    for column, field, digits in MEANS:
        values = [v for _, reading in known if (v := getattr(reading, field)) is not None]
        if values:
            row[column] = round(math.fsum(values) / len(values), digits)
    row["memory_used_bytes_max"] = _largest(known, "memory_used_bytes")
    row["memory_total_bytes"] = _largest(known, "memory_total_bytes")
    row["temperature_c_max"] = _largest(known, "temperature_c")
    row["xid_count"] = _total(known, "xid")
    row["ecc_corrected_count"] = _total(known, "ecc_corrected")
    row["ecc_uncorrected_count"] = _total(known, "ecc_uncorrected")
    throttles = [reading.throttle for _, reading in known if reading.throttle is not None]
    if throttles:
        row["throttle"] = ",".join(sorted({name for names in throttles for name in names}))
    for _, reading in reversed(known):
        if reading.processes is not None:
            row["processes"] = reading.processes
            break
    codes = list(dict.fromkeys(code for _, reading in readings for code in reading.reasons))
    sources = {reading.source for _, reading in known if reading.bandwidth is not None}
    if len(sources) > 1:
        codes.append("mixed_source")
    row["reason"] = ",".join(codes) or None
    return row


def _fold_bandwidth(row: dict[str, object], known: list[tuple[float, Reading]]) -> None:
    counts = Counter(reading.source for _, reading in known if reading.bandwidth is not None)
    row["bandwidth_samples"] = 0
    row["source"] = row["fidelity"] = UNKNOWN
    if not counts:
        row["bandwidth_active_samples"] = 0
        return
    source = min(counts, key=lambda name: (-counts[name], RANK.get(name, len(RANK))))
    used = [(at, r) for at, r in known if r.source == source and r.bandwidth is not None]
    shares = sorted(reading.bandwidth for _, reading in used)
    active = [reading.bandwidth for _, reading in used if reading.active]
    peak_at, peak = max(used, key=lambda pair: pair[1].bandwidth)
    row["source"] = source
    row["fidelity"] = FIDELITY.get(source, UNKNOWN)
    row["bandwidth_samples"] = len(shares)
    row["bandwidth_mean"] = round(math.fsum(shares) / len(shares), 9)
    row["bandwidth_max"] = peak.bandwidth
    row["bandwidth_max_at"] = int(peak_at)
    row["bandwidth_p95"] = percentile(shares, 0.95)
    row["bandwidth_histogram"] = histogram(shares)
    row["bandwidth_active_samples"] = len(active)
    row["bandwidth_active_histogram"] = histogram(active)
    if active:
        row["bandwidth_active_mean"] = round(math.fsum(active) / len(active), 9)


def _largest(known: list[tuple[float, Reading]], field: str) -> object:
    return max((v for _, r in known if (v := getattr(r, field)) is not None), default=None)


def _total(known: list[tuple[float, Reading]], field: str) -> int | None:
    values = [v for _, r in known if (v := getattr(r, field)) is not None]
    return sum(values) if values else None
