"""``npu-smi info -t usages`` and the table of ``npu-smi info``.

In ``usages`` the line ``Chip ID`` comes after the block that it names, so a block is closed by it.
Under a virtual NPU all shares read 0, which is not a measurement: they are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from collector.formats import FormatError
from collector.formats.cells import quantity
from collector.formats.dumps import Moment, local_name, put
from collector.model import Card, Reading

VIRTUAL = 32768  # NPU ids from here on are virtual ones
MIB = 2**20
# key without unit, lower case -> (field, kind, factor)
KEYS = {
    "hbm bandwidth usage rate": ("bandwidth", "share", 0.01),
    "npu utilization": ("gpu_duty", "share", 0.01),
    "aicore usage rate": ("sm", "share", 0.01),
    "aicube usage rate": ("tensor", "share", 0.01),
    "hbm capacity": ("memory_total_bytes", "bytes", MIB),
    "npu real-time power": ("power_w", "watts", 1),
    "power dissipation": ("power_w", "watts", 1),
    "temperature": ("temperature_c", "celsius", 1),
    "aicore freq": ("sm_clock_mhz", "mhz", 1),
}
_KEY_VALUE = re.compile(r"\s*([A-Za-z][\w\s/.-]*?)\s*(?:\(.*?\))?\s*:\s*(.*?)\s*", re.ASCII)
_PAIR = re.compile(r"(\d+)\s*/\s*(\d+)", re.ASCII)


def read_npu_smi(
    lines: Iterable[str],
    *,
    at: float | None = None,
    taken: float = 0.0,
    timezone: str | None = None,
    node: str | None = None,
    **_: object,
) -> Iterator[tuple[float, Card, Reading]]:
    """A reading of each chip, from either output."""
    when, reason = Moment(at, taken, timezone).of(None)
    text = list(lines)
    found = list(
        table(text, node) if any("npu-smi" in line for line in text) else usages(text, node)
    )
    if not found:
        raise FormatError("no chip in it: is this from npu-smi info or npu-smi info -t usages?")
    for card, reading in found:
        if reason:
            reading.because(reason)
        yield when, card, reading


def usages(
    lines: Iterable[str], node: str | None = None, npu: str | None = None
) -> Iterator[tuple[Card, Reading]]:
    """Blocks of ``Key : Value``; ``npu`` is the id asked for, where the text has none."""
    block: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _KEY_VALUE.fullmatch(line.rstrip("\n"))
        if match is None:
            raise FormatError(f"line {number}: expected Key : Value, found {line.strip()[:60]!r}")
        key, value = match.group(1).lower(), match.group(2)
        if key == "npu id":
            npu = value
        elif key == "chip id":
            yield _chip(block, npu or "0", value, node)
            block = {}
        elif key != "chip count":
            block[key] = value
    if block:
        raise FormatError("cut short: the last block has no Chip ID")


def _chip(block: dict[str, str], npu: str, chip: str, node: str | None) -> tuple[Card, Reading]:
    reading = Reading()
    for key, (field, kind, factor) in KEYS.items():
        if key in block:
            put(reading, field, block[key], kind, factor)
    share, _ = quantity(block.get("hbm usage rate"), "share", 0.01)
    if share is not None and reading.memory_total_bytes:
        reading.memory_used_bytes = int(share * reading.memory_total_bytes)
        reading.because("memory_used_by_percent")
    _close(reading, npu, "hbm bandwidth usage rate" in block)
    whole = npu.isascii() and npu.isdigit() and len(npu) < 9
    card = Card(
        "ascend", local_name(node, f"npu:{npu}/chip:{chip}"), index=int(npu) if whole else None
    )
    reading.because("identity_by_index")
    return card, reading


def _close(reading: Reading, npu: str, has_bandwidth: bool) -> None:
    if npu.isascii() and npu.isdigit() and len(npu) < 9 and int(npu) >= VIRTUAL:
        reading.bandwidth = reading.gpu_duty = reading.sm = reading.tensor = None
        reading.because("vnpu")
    elif reading.bandwidth is not None:
        reading.source = "ascend_hbm"
    elif not has_bandwidth:
        reading.because("no_hbm_bandwidth")


def table(lines: Iterable[str], node: str | None = None) -> Iterator[tuple[Card, Reading]]:
    """Pairs of lines of ``npu-smi info``: the NPU's and the chip's."""
    upper: list[str] | None = None
    hbm = False
    for number, line in enumerate(lines, 1):
        if "process" in line.lower():
            break
        hbm = hbm or "HBM-Usage" in line
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|") or len(cells) != 3:
            continue
        first = cells[0].split()
        if not first or not (first[0].isascii() and first[0].isdigit()):
            continue
        if upper is None:
            upper = cells
            continue
        yield _pair(upper, cells, hbm, node, number)
        upper = None
    if upper is not None:
        raise FormatError("cut short: the last NPU has no line of its chip")


def _pair(
    upper: list[str], lower: list[str], hbm: bool, node: str | None, number: int
) -> tuple[Card, Reading]:
    head = upper[0].split()
    figures = upper[2].split()
    activity = lower[2].split()
    bus = lower[1]
    pairs = _PAIR.findall(lower[2])
    if len(head) < 2 or len(figures) < 2 or not activity or not pairs:
        raise FormatError(f"line {number}: not the two lines of an NPU as npu-smi prints them")
    reading = Reading()
    put(reading, "power_w", figures[0], "watts")
    put(reading, "temperature_c", figures[1], "celsius")
    put(reading, "sm", activity[0], "share", 0.01)
    used, total = pairs[-1] if hbm else pairs[0]
    put(reading, "memory_used_bytes", used, "bytes", MIB)
    put(reading, "memory_total_bytes", total, "bytes", MIB)
    _close(reading, head[0], has_bandwidth=False)
    reading.because("identity_by_bus")
    index = int(head[0]) if len(head[0]) < 9 else None
    chip = lower[0].split()[0]
    name = f"bus:{bus}" if bus not in ("", "NA") else f"npu:{head[0]}/chip:{chip}"
    return Card("ascend", local_name(node, name), model=head[1], index=index), reading
