"""``nvidia-smi -q -x``, old and new schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as Tree

from collector.formats import FormatError
from collector.formats.cells import quantity
from collector.formats.dumps import Moment, duty_as_bandwidth, local_name, put
from collector.model import LOST, Card, Reading

POWER = (
    "gpu_power_readings/instant_power_draw",
    "gpu_power_readings/power_draw",
    "power_readings/instant_power_draw",
    "power_readings/power_draw",
    "gpu_power_readings/average_power_draw",
)


def read_xml(
    lines: Iterable[str],
    *,
    at: float | None = None,
    taken: float = 0.0,
    timezone: str | None = None,
    node: str | None = None,
    **_: object,
) -> Iterator[tuple[float, Card, Reading]]:
    """Readings of all cards; several dumps in a row (``-l``) are read one after the other."""
    moment = Moment(at, taken, timezone)
    text = "".join(lines)
    if not text.strip():
        raise FormatError("the file is empty")
    before = 0
    for part in re.split(r"(?=<\?xml)", text):
        if part.strip():
            yield from _dump(part, before, moment, node)
        before += part.count("\n")


def _dump(text: str, before: int, moment: Moment, node: str | None):
    try:
        root = Tree.fromstring(text.strip())
    except Tree.ParseError as error:
        line, column = error.position
        raise FormatError(
            f"line {before + line}, column {column}: not well-formed XML (cut short?)"
        ) from None
    except ValueError as error:
        raise FormatError(f"not readable as XML: {error}") from None
    gpus = list(root.iter("gpu"))
    if root.tag != "nvidia_smi_log" or not gpus:
        raise FormatError("no <nvidia_smi_log> with <gpu>: is this from nvidia-smi -q -x?")
    for number, gpu in enumerate(gpus):
        instant, reason = moment.of(_text(root, "timestamp"))
        card, reading = _whole(gpu, number, node)
        if reason:
            reading.because(reason)
        yield instant, card, reading
        for device in gpu.findall("mig_devices/mig_device"):
            part, figures = _slice(device, card)
            if reason:
                figures.because(reason)
            yield instant, part, figures


def _text(element: Tree.Element, path: str) -> str | None:
    found = element.findtext(path)
    return found.strip() if found else None


def _whole(gpu: Tree.Element, number: int, node: str | None) -> tuple[Card, Reading]:
    reading = Reading()
    uuid = _text(gpu, "uuid")
    if uuid is None or not uuid.startswith("GPU-"):
        uuid = local_name(node, f"bus:{gpu.get('id') or number}")
        reading.because("identity_by_bus")
    card = Card("nvidia", uuid, model=_text(gpu, "product_name"), index=number)
    memory_total = _text(gpu, "fb_memory_usage/total")
    duty = _text(gpu, "utilization/memory_util")
    put(reading, "gpu_duty", _text(gpu, "utilization/gpu_util"), "share")
    put(reading, "memory_duty", duty, "share")
    put(reading, "memory_total_bytes", memory_total, "bytes", 2**20)
    put(reading, "memory_used_bytes", _text(gpu, "fb_memory_usage/used"), "bytes", 2**20)
    put(reading, "temperature_c", _text(gpu, "temperature/gpu_temp"), "celsius")
    put(reading, "memory_clock_mhz", _text(gpu, "clocks/mem_clock"), "mhz")
    put(reading, "sm_clock_mhz", _text(gpu, "clocks/sm_clock"), "mhz")
    _power(gpu, reading)
    if LOST in (quantity(memory_total, "bytes")[1], quantity(duty, "share")[1]):
        lost = Reading()
        lost.because(LOST)
        return card, lost
    if _text(gpu, "mig_mode/current_mig") == "Enabled":
        reading.because("unsupported_mig")
    clock_max, _ = quantity(_text(gpu, "max_clocks/mem_clock"), "mhz")
    duty_as_bandwidth(reading, clock_max)
    reading.throttle = _throttle(gpu)
    reading.processes = _processes(gpu)
    return card, reading


def _power(gpu: Tree.Element, reading: Reading) -> None:
    reason: str | None = "not_available"
    for path in POWER:
        reading.power_w, told = quantity(_text(gpu, path), "watts")
        if reading.power_w is not None:
            return
        reason = told if told != "empty" else reason
    reading.because(f"power_w:{reason}")


def _throttle(gpu: Tree.Element) -> tuple[str, ...] | None:
    for group in ("clocks_event_reasons", "clocks_throttle_reasons"):
        element = gpu.find(group)
        if element is not None:
            active = [child.tag for child in element if (child.text or "").strip() == "Active"]
            names = [re.sub(r"^clocks_(event|throttle)_reason_", "", tag) for tag in active]
            return tuple(n for n in names if n not in ("gpu_idle", "applications_clocks_setting"))
    return None


def _processes(element: Tree.Element) -> list[dict[str, object]] | None:
    group = element.find("processes")
    if group is None:
        return None
    found = group.findall("process_info")
    if not found:
        return []
    used = [quantity(_text(entry, "used_memory"), "bytes")[0] for entry in found]
    known = [value for value in used if value is not None]
    return [
        {
            "user": None,
            "job": None,
            "container": None,
            "count": len(found),
            "memory_bytes": sum(known) if known else None,
        }
    ]


def _slice(device: Tree.Element, parent: Card) -> tuple[Card, Reading]:
    """A MIG instance: its memory is all that this dump tells."""
    reading = Reading()
    reading.because("unsupported_mig")
    place = "/".join(
        _text(device, name) or "-" for name in ("gpu_instance_id", "compute_instance_id")
    )
    uuid = _text(device, "uuid") or f"MIG-{parent.uuid}/{place}"
    put(reading, "memory_total_bytes", _text(device, "fb_memory_usage/total"), "bytes", 2**20)
    put(reading, "memory_used_bytes", _text(device, "fb_memory_usage/used"), "bytes", 2**20)
    return Card("nvidia", uuid, model=parent.model, index=parent.index, parent=parent.uuid), reading
