"""``python -m tests.collector.hardware > docs/collector-hardware.md`` on a machine with a card.

Checks the claims that docs/collector.md marks [UNVERIFIED-HW] and writes what it saw. It only
reads; run something on the card meanwhile, an idle card proves little.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

from collector.model import Reading
from collector.sources import Unavailable
from collector.sources.nvml import Nvml

SECONDS = 60


def main() -> int:
    """Print the report; 1 where there is no card."""
    source = Nvml()
    try:
        source.poll(time.time())
    except Unavailable as error:
        print(f"no NVIDIA card can be read here: {error}", file=sys.stderr)
        return 1
    readings: dict[str, list[Reading]] = {}
    costs = []
    models: dict[str, str | None] = {}
    for _ in range(SECONDS):
        time.sleep(1)
        started = time.perf_counter()
        for card, reading in source.poll(time.time()):
            readings.setdefault(card.uuid, []).append(reading)
            models[card.uuid] = card.model
        costs.append(time.perf_counter() - started)
    print(f"# What a real card showed\n\nDriver {source.driver}, user id {os.geteuid()}, ", end="")
    print(f"{SECONDS} s, {len(readings)} units, poll {1000 * statistics.median(costs):.1f} ms.\n")
    for number, (uuid, found) in enumerate(readings.items()):
        print(f"## Unit {number}: {models[uuid]}\n")  # no UUID: the report is published
        for line in verdicts(found):
            print(f"- {line}")
        print()
    print(blocking(source))
    source.close()
    return 0


def verdicts(found: list[Reading]) -> list[str]:
    """What the readings say of each claim."""
    gpm = [reading for reading in found if reading.source == "nvml_gpm"]
    reasons = sorted({code for reading in found for code in reading.reasons})
    lines = [
        f"GPM gave {sum(r.bandwidth is not None for r in gpm)} of {len(found)} readings"
        f" as user id {os.geteuid()} (claim: Hopper and newer need no privilege)",
        f"reasons seen: {', '.join(reasons) or 'none'}",
    ]
    both = [
        (r.bandwidth, r.memory_duty * (r.clock_ratio or 1.0))
        for r in gpm
        if r.bandwidth is not None and r.memory_duty is not None
    ]
    if both:
        broken = sum(share > bound + 0.02 for share, bound in both)
        lines.append(
            f"duty cycle x clock was under the GPM share in {broken} of {len(both)} readings"
            " (claim: it is an upper bound; the point reading covers another window)"
        )
        lines.append(
            f"means: GPM {statistics.fmean(s for s, _ in both):.4f},"
            f" duty x clock {statistics.fmean(b for _, b in both):.4f}"
        )
    for field in ("pcie_rx_bytes_per_s", "nvlink_rx_bytes_per_s", "sm", "tensor", "power_w"):
        values = [v for r in found if (v := getattr(r, field)) is not None]
        shown = f"mean {statistics.fmean(values):.4g}" if values else "never"
        lines.append(f"{field}: {len(values)} readings, {shown}")
    return lines


def blocking(source: Nvml) -> str:
    """How long the call that the agent never uses blocks."""
    nv = source._nv
    handle = nv.nvmlDeviceGetHandleByIndex(0)
    started = time.perf_counter()
    try:
        nv.nvmlDeviceGetPcieThroughput(handle, 0)
    except nv.NVMLError as error:
        return f"nvmlDeviceGetPcieThroughput: {error}"
    spent = 1000 * (time.perf_counter() - started)
    return f"nvmlDeviceGetPcieThroughput took {spent:.1f} ms (claim: about 20 ms)"


if __name__ == "__main__":
    sys.exit(main())
