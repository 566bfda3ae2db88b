"""``nvidia-smi --query-gpu=... --format=csv``, alone or inside a longer capture.

Columns are found by the names in the header (their number and order change with the driver); the
unit stands in the cell or, with ``nounits``, in the header.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from collector.formats import FormatError
from collector.formats.cells import UNITS, quantity
from collector.formats.dumps import Moment, duty_as_bandwidth, local_name
from collector.formats.times import instant, zone
from collector.model import LOST, Card, Reading

# field -> (kind, names in the order of preference)
FIGURES = {
    "gpu_duty": ("share", ("utilization.gpu",)),
    "memory_duty": ("share", ("utilization.memory",)),
    "memory_used_bytes": ("bytes", ("memory.used",)),
    "memory_total_bytes": ("bytes", ("memory.total",)),
    "power_w": ("watts", ("power.draw", "power.draw.instant", "power.draw.average")),
    "temperature_c": ("celsius", ("temperature.gpu",)),
    "sm_clock_mhz": ("mhz", ("clocks.current.sm", "clocks.sm")),
    "memory_clock_mhz": ("mhz", ("clocks.current.memory", "clocks.mem")),
}
CLOCK_MAX = ("clocks.max.memory", "clocks.max.mem")
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
DEFAULT = {"share": 0.01, "bytes": 2**20}
_NAME = re.compile(r"([a-zA-Z_][\w.]*)(?:\s*\[(.+)\])?", re.ASCII)


def read_query(
    lines: Iterable[str],
    *,
    at: float | None = None,
    taken: float = 0.0,
    timezone: str | None = None,
    node: str | None = None,
    **_: object,
) -> Iterator[tuple[float, Card, Reading]]:
    """Readings of every table with a ``utilization``, ``memory`` or ``power`` column."""
    rows = list(_tables(lines))
    if not rows:
        raise FormatError("no header of nvidia-smi --query-gpu (timestamp, name, uuid, ...) found")
    stamps = {stamp for _, row in rows if (stamp := _first(row, ("timestamp",))[0])}
    series = at is None and len(stamps) > 1
    local = zone(timezone)
    moment = Moment(at, taken, timezone)
    for number, row in rows:
        stamp = _first(row, ("timestamp",))[0]
        try:
            when, reason = (
                (instant(stamp or "", local), None) if series else moment.of(stamp or None)
            )
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        card, reading = _reading(row, node)
        if reason:
            reading.because(reason)
        yield when, card, reading


Row = dict[str, tuple[str, str | None]]


def _tables(lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    """Rows as ``{name: (cell, unit of the header)}`` with their line numbers."""
    header: list[tuple[str, str | None]] | None = None
    for number, line in enumerate(lines, 1):
        line = line.strip().lstrip("\ufeff")
        if not line or line.startswith("#"):
            header = None
            continue
        try:
            cells = [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
        except csv.Error as error:
            raise FormatError(f"line {number}: {error}") from None
        if found := _header(cells):
            header = found
        elif header is not None:
            if len(cells) > len(header):
                raise FormatError(
                    f"line {number}: {len(cells)} cells under a header of {len(header)}"
                )
            padded = cells + [""] * (len(header) - len(cells))
            yield (
                number,
                {name: (cell, unit) for (name, unit), cell in zip(header, padded, strict=True)},
            )


def _header(cells: list[str]) -> list[tuple[str, str | None]] | None:
    names = [match.groups() if (match := _NAME.fullmatch(cell)) else None for cell in cells]
    if len(cells) < 2 or not all(names):
        return None
    known = {name for _, aliases in FIGURES.values() for name in aliases}
    plain = [(name[0], name[1]) for name in names if name]
    return plain if any(name in known for name, _ in plain) else None


def _first(row: Row, names: tuple[str, ...]) -> tuple[str | None, str | None]:
    for name in names:
        if name in row:
            return row[name]
    return None, None


def _figure(row: Row, names: tuple[str, ...], kind: str) -> tuple[float | None, str | None]:
    reason = None
    for name in names:
        if name in row:
            cell, unit = row[name]
            factor = UNITS[kind].get((unit or "").lower(), DEFAULT.get(kind, 1.0))
            value, reason = quantity(cell, kind, factor)
            if value is not None:
                return value, None
    return None, reason


def _reading(row: Row, node: str | None) -> tuple[Card, Reading]:
    reading = Reading()
    index = _first(row, ("index",))[0]
    uuid = _first(row, ("uuid", "gpu_uuid"))[0]
    if not uuid or not uuid.startswith(("GPU-", "MIG-")):
        bus = _first(row, ("pci.bus_id", "gpu_bus_id"))[0]
        uuid = local_name(node, f"bus:{bus}" if bus else f"index:{index or 0}")
        reading.because("identity_by_bus" if bus else "identity_by_index")
    card = Card(
        "nvidia",
        uuid,
        model=_first(row, ("name", "gpu_name"))[0],
        index=int(index) if index and index.isascii() and index.isdigit() else None,
    )
    lost = False
    for field, (kind, names) in FIGURES.items():
        value, reason = _figure(row, names, kind)
        setattr(reading, field, value)
        if reason:
            reading.because(f"{field}:{reason}")
            lost = lost or reason == LOST
    if lost and not reading.known:
        gone = Reading()
        gone.because(LOST)
        return card, gone
    if _first(row, ("mig.mode.current",))[0] == "Enabled":
        reading.because("unsupported_mig")
    duty_as_bandwidth(reading, _figure(row, CLOCK_MAX, "mhz")[0])
    bits = _first(row, REASONS)[0]
    if bits and re.fullmatch(r"0x[0-9a-fA-F]+", bits):
        from collector.sources.nvml_unit import THROTTLE

        reading.throttle = tuple(n for bit, n in THROTTLE.items() if int(bits, 16) & bit)
    return card, reading
