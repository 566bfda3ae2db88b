"""AMD cards: ``rocm-smi -a --json``, and ``amd-smi metric --json`` (not verified on hardware).

UMC activity is the share of time in which the memory controller worked, as AMD says it: a vendor
percentage. The names of rocm-smi's keys change with the ROCm release; ``GPU memory use (%)`` of
older ones is that activity, ``GPU Memory Allocated (VRAM%)`` of newer ones is capacity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from collector.formats import FormatError
from collector.formats.cells import quantity
from collector.formats.dumps import Moment, local_name
from collector.model import Card, Reading

# field -> (kind, factor of a bare number, keys in the order of preference)
KEYS: dict[str, tuple[str, float, tuple[str, ...]]] = {
    "bandwidth": (
        "share",
        0.01,
        ("GPU Memory Read/Write Activity (%)", "Memory Activity", "GPU memory use (%)"),
    ),
    "gpu_duty": ("share", 0.01, ("GPU use (%)",)),
    "memory_used_bytes": ("bytes", 1, ("VRAM Total Used Memory (B)",)),
    "memory_total_bytes": ("bytes", 1, ("VRAM Total Memory (B)",)),
    "power_w": (
        "watts",
        1,
        (
            "Average Graphics Package Power (W)",
            "Current Socket Graphics Package Power (W)",
            "Current Graphics Package Power (W)",
        ),
    ),
    "temperature_c": (
        "celsius",
        1,
        ("Temperature (Sensor edge) (C)", "Temperature (Sensor junction) (C)"),
    ),
    "sm_clock_mhz": ("mhz", 1, ("sclk clock speed:",)),
    "memory_clock_mhz": ("mhz", 1, ("mclk clock speed:",)),
}
AMD_SMI = {
    "bandwidth": ("share", 0.01, ("usage", "umc_activity")),
    "gpu_duty": ("share", 0.01, ("usage", "gfx_activity")),
    "memory_used_bytes": ("bytes", 2**20, ("mem_usage", "used_vram")),
    "memory_total_bytes": ("bytes", 2**20, ("mem_usage", "total_vram")),
    "power_w": ("watts", 1, ("power", "socket_power")),
    "temperature_c": ("celsius", 1, ("temperature", "edge")),
}


def read_amd(
    lines: Iterable[str],
    *,
    at: float | None = None,
    taken: float = 0.0,
    timezone: str | None = None,
    node: str | None = None,
    **_: object,
) -> Iterator[tuple[float, Card, Reading]]:
    """A reading of each card, from either tool."""
    when, reason = Moment(at, taken, timezone).of(None)
    for card, reading in cards_of("".join(lines), node):
        if reason:
            reading.because(reason)
        yield when, card, reading


def cards_of(text: str, node: str | None = None) -> list[tuple[Card, Reading]]:
    """Cards with readings; FormatError when the text is not what either tool prints."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise FormatError(f"not JSON: {error}") from None
    except RecursionError:
        raise FormatError("not what rocm-smi prints: nested too deeply") from None
    if isinstance(document, dict) and isinstance(document.get("gpu_data"), list):
        document = document["gpu_data"]
    if isinstance(document, list):
        found = [_amd_smi(entry, node) for entry in document if isinstance(entry, dict)]
    elif isinstance(document, dict):
        found = [
            _rocm_smi(name, entry, node)
            for name, entry in document.items()
            if re.fullmatch(r"card\d{1,4}", name, re.ASCII) and isinstance(entry, dict)
        ]
    else:
        found = []
    if not found:
        raise FormatError('no card in it: rocm-smi prints {"card0": {...}}, amd-smi [{"gpu": 0}]')
    return found


def _rocm_smi(name: str, entry: dict[str, Any], node: str | None) -> tuple[Card, Reading]:
    reading = Reading()
    for field, (kind, factor, keys) in KEYS.items():
        reason = None
        for key in keys:
            if key not in entry:
                continue
            value, reason = quantity(str(entry[key]).strip("()"), kind, factor)
            if value is not None:
                setattr(reading, field, value)
                reason = None
                break
        if reason:
            reading.because(f"{field}:{reason}")
    if reading.bandwidth is not None:
        reading.source = "amd_umc"
    else:
        reading.because("no_umc_activity")
    model = entry.get("Card Series") or entry.get("Card series") or entry.get("Device Name")
    return _card(entry, name, str(model) if model else None, node, reading), reading


def _card(
    entry: dict[str, Any], name: str, model: str | None, node: str | None, reading: Reading
) -> Card:
    index = int(name.removeprefix("card"))
    unique = str(entry.get("Unique ID", "N/A"))
    bus = entry.get("PCI Bus")
    if re.fullmatch(r"0x[0-9a-fA-F]+", unique) and int(unique, 16):
        return Card("amd", unique, model=model, index=index)
    reading.because("identity_by_bus" if bus else "identity_by_index")
    return Card(
        "amd",
        local_name(node, f"bus:{bus}" if bus else f"index:{index}"),
        model=model,
        index=index,
    )


def _amd_smi(entry: dict[str, Any], node: str | None) -> tuple[Card, Reading]:
    reading = Reading()
    reading.because("amd_smi_unverified")
    for field, (kind, factor, path) in AMD_SMI.items():
        value: Any = entry
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            continue
        if isinstance(value, dict):
            value = f"{value.get('value')} {value.get('unit') or ''}"
        # amd-smi writes MB and means MiB
        figure, reason = quantity(str(value).replace("MB", "MiB"), kind, factor)
        setattr(reading, field, figure)
        if reason:
            reading.because(f"{field}:{reason}")
    if reading.bandwidth is not None:
        reading.source = "amd_umc"
    number = entry.get("gpu")
    index = number if isinstance(number, int) else None
    uuid = entry.get("uuid")
    if not isinstance(uuid, str) or not uuid:
        uuid = local_name(node, f"index:{number}")
        reading.because("identity_by_index")
    return Card("amd", uuid, index=index), reading
