"""Samples pages for tests, and a plain-Python reckoning of what their roll-up must be."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from governance.telemetry.domain.columns import BINS, MEANS
from governance.telemetry.domain.page import Page, parse_page
from governance.telemetry.domain.sources import Source

BASE = 29_928_960
"""A minute at 00:00 UTC of 2026-11-27; the pages of the tests begin here."""

NOW = datetime.fromtimestamp((BASE + 3 * 1440) * 60, UTC)
NOW_MINUTE = int(NOW.timestamp()) // 60


def row(card: int = 0, minute: int = BASE, **figures: Any) -> dict[str, Any]:
    """A measured card-minute; `minute` counts minutes since 1970."""
    return {
        "card": card,
        "minute": minute * 60,
        "source": "nvml_gpm",
        "fidelity": "dram_bw",
        "samples": 60,
        "active_samples": 30,
        "bandwidth_mean": 0.2,
        "bandwidth_active_mean": 0.4,
        "bandwidth_max": 0.5,
        "gpu_duty_mean": 0.5,
        "power_w_mean": 300.0,
        **figures,
    }


def document(
    rows: Sequence[Mapping[str, Any]],
    *,
    agent: str = "agent-a",
    epoch: str = "e1",
    cards: Iterable[str] = ("GPU-0", "GPU-1", "GPU-2"),
    first: int = 1,
    more: bool = False,
    **frame: Any,
) -> dict[str, Any]:
    """The page that holds the rows, as an agent would send it."""
    names = sorted({name for one in rows for name in one} | {"seq"})
    numbered = [{"seq": first + place, **one} for place, one in enumerate(rows)]
    if not rows:
        names = ["seq", "card", "minute", "source", "samples"]
    return {
        "format": 1,
        "agent": agent,
        "epoch": epoch,
        "first": first if rows else None,
        "next": f"{epoch}:{first + len(rows) - 1}",
        "more": more,
        "now": NOW.isoformat(),
        "node": "host",
        "cards": [
            {
                "vendor": "nvidia",
                "uuid": uuid,
                "parent": None,
                "model": "NVIDIA H100 80GB HBM3",
                "index": place,
            }
            for place, uuid in enumerate(cards)
        ],
        "columns": {name: [one.get(name) for one in numbered] for name in names},
        "gaps": [],
        **frame,
    }


def page(rows: Sequence[Mapping[str, Any]], **frame: Any) -> Page:
    """The same, checked."""
    return parse_page(orjson.dumps(document(rows, **frame)), now_minute=NOW_MINUTE)


def _stored(value: float | None) -> float | None:
    """A figure as the table keeps it, in four bytes."""
    return None if value is None else struct.unpack("f", struct.pack("f", value))[0]


def reckon(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[int, int, int], dict[str, Any]]:
    """(card, hour, source) -> sums, by the definitions and without any of the code under test."""
    hours: dict[tuple[int, int, int], dict[str, Any]] = defaultdict(
        lambda: defaultdict(int, histogram=[0] * BINS, bandwidth_max=None, peak_at=None)
    )
    for one in rows:
        minute = one["minute"] // 60
        source = 0 if one["bandwidth_mean"] is None else Source[one["source"].upper()]
        total = hours[one["card"], minute // 60, int(source)]
        samples, active = one["samples"], one["active_samples"]
        total["minutes"] += samples > 0
        total["samples"] += samples
        if active is not None:
            total["activity_samples"] += samples
            total["active_samples"] += active
            if samples:
                total["active_ms"] += (active * 120_000 + samples) // (2 * samples)
        _reckon_bandwidth(total, one)
        for figure in MEANS:
            value = _stored(one.get(figure.wire[0]))
            if value is not None:
                scale = figure.scale or 1
                total[f"{figure.name}_total"] += round(value * samples * scale)
                total[f"{figure.name}_weight"] += samples
                if active is not None:
                    total[f"{figure.name}_active_total"] += round(value * active * scale)
                    total[f"{figure.name}_active_weight"] += active
    return {key: dict(value) for key, value in hours.items()}


def _reckon_bandwidth(total: dict[str, Any], one: Mapping[str, Any]) -> None:
    mean, busy = _stored(one["bandwidth_mean"]), _stored(one["bandwidth_active_mean"])
    if mean is None:
        return
    total["bandwidth_minutes"] += 1
    total["bandwidth_samples"] += one["samples"]
    total["bandwidth_total"] += round(mean * one["samples"] * 10**9)
    if busy is not None:
        total["bandwidth_active_samples"] += one["active_samples"]
        total["bandwidth_active_total"] += round(busy * one["active_samples"] * 10**9)
        step = min(BINS - 1, round(busy * 10**6) // 50_000)
        total["histogram"][step] += one["active_samples"]
    peak = _stored(one["bandwidth_max"])
    if peak is not None:
        rounded, at = round(peak * 10**6) / 10**6, one["minute"]
        best = total["bandwidth_max"]
        if best is None or rounded > best or (rounded == best and at < total["peak_at"]):
            total["bandwidth_max"], total["peak_at"] = rounded, at
