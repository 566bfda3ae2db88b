"""What a scheduler allotted: cards owned and allotted by group, at any cadence.

A row holds until the next one of its group, but no longer than the usual step of the file (the
median): a hole is unknown, not more of the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median_low
from zoneinfo import ZoneInfo

from governance.telemetry.domain.tabular import Names, TableFault, moment, rows, whole

NAMES = Names(
    {
        "timestamp": ("time", "at", "date"),
        "group": ("team", "vc", "partition", "queue", "virtual_cluster"),
        "cards_owned": ("owned", "total_gpu_num", "gpus_owned", "total_gpus"),
        "cards_allotted": ("allotted", "running_gpu_num", "gpus_allotted", "used_gpus"),
        "cards_waiting": ("waiting", "pending_gpu_num", "gpus_waiting", "pending_gpus"),
    },
    required=("timestamp", "group", "cards_owned", "cards_allotted"),
)
SINGLE = 60
"""Seconds that the only row of a file stands for."""


@dataclass(frozen=True)
class Held:
    """Cards of a group over `seconds` from `at` on."""

    group: str
    at: datetime
    seconds: int
    owned: int
    allotted: int
    waiting: int | None


def read(
    lines: Iterable[str], *, columns: str | None = None, local: ZoneInfo | None = None
) -> list[Held]:
    """The rows of a file, by group and time; TableFault with the line."""
    found: dict[str, dict[datetime, tuple[int, int, int | None]]] = {}
    for line, cells in rows(lines, NAMES, columns):
        at = moment(cells["timestamp"], line, "timestamp", local)
        group = cells["group"]
        if not group or len(group) > 120:
            raise TableFault(f"line {line}, group: a name of 1 to 120 characters is needed")
        waiting = cells.get("cards_waiting", "")
        values = (
            whole(cells["cards_owned"], line, "cards_owned"),
            whole(cells["cards_allotted"], line, "cards_allotted"),
            whole(waiting, line, "cards_waiting") if waiting else None,
        )
        before = found.setdefault(group, {}).setdefault(at, values)
        if before != values:
            raise TableFault(f"line {line}: {group} has another row for {at:%F %T} UTC")
    return [held for group in sorted(found) for held in _held(group, found[group])]


def _held(group: str, values: dict[datetime, tuple[int, int, int | None]]) -> list[Held]:
    times = sorted(values)
    steps = [int((b - a).total_seconds()) for a, b in pairwise(times)]
    usual = max(1, median_low(steps)) if steps else SINGLE
    lengths = [min(step, usual) for step in steps] + [usual]
    return [
        Held(group, at, max(length, 1), *values[at])
        for at, length in zip(times, lengths, strict=True)
    ]
