"""Network and disk throughput of the whole node, from /proc, as rates between two looks."""

from __future__ import annotations

import os
import time

EVERY_S = 5.0
SECTOR = 512
_VIRTUAL_DISKS = ("loop", "ram", "dm-", "md", "zram", "sr", "fd", "nbd")


class NodeRates:
    """``read`` gives ``{field of a reading: bytes/s}`` every few seconds, else nothing."""

    def __init__(self, proc: str = "/proc", sys: str = "/sys", clock=time.monotonic) -> None:
        self._proc = proc
        self._sys = sys
        self._clock = clock
        self._before: tuple[float, dict[str, int]] | None = None

    def read(self) -> dict[str, float]:
        now = self._clock()
        if self._before is not None and now - self._before[0] < EVERY_S:
            return {}
        counts = self._counts()
        before, self._before = self._before, (now, counts)
        if before is None:
            return {}
        elapsed = now - before[0]
        return {
            name: (count - before[1][name]) / elapsed
            for name, count in counts.items()
            if name in before[1] and count >= before[1][name]
        }

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for reader in (self._network, self._disks):
            try:
                counts.update(reader())
            except (OSError, ValueError, IndexError):
                continue
        return counts

    def _network(self) -> dict[str, int]:
        links: dict[str, tuple[int, int]] = {}
        with open(f"{self._proc}/net/dev", encoding="ascii", errors="replace") as file:
            for line in file.readlines()[2:]:
                name, _, rest = line.partition(":")
                cells = rest.split()
                links[name.strip()] = (int(cells[0]), int(cells[8]))
        links.pop("lo", None)
        physical = [
            name for name in links if os.path.exists(f"{self._sys}/class/net/{name}/device")
        ]
        # inside a container no interface has a device; there all but loopback count
        counted = physical or list(links)
        return {
            "net_rx_bytes_per_s": sum(links[name][0] for name in counted),
            "net_tx_bytes_per_s": sum(links[name][1] for name in counted),
        }

    def _disks(self) -> dict[str, int]:
        disks = [
            name for name in os.listdir(f"{self._sys}/block") if not name.startswith(_VIRTUAL_DISKS)
        ]
        read = written = 0
        for name in disks:
            with open(f"{self._sys}/block/{name}/stat", encoding="ascii") as file:
                cells = file.read().split()
            read += int(cells[2]) * SECTOR
            written += int(cells[6]) * SECTOR
        return {"disk_read_bytes_per_s": read, "disk_write_bytes_per_s": written}
