"""npu-exporter's ``/metrics`` (Ascend): identity by vdie id, every sample with its own time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collector.formats import FormatError
from collector.formats.cells import quantity
from collector.formats.dumps import Moment, local_name
from collector.formats.prometheus import read_samples
from collector.model import Card, Reading

MB = 2**20
NO_VALUE = (-1.0, 4294967295.0)
FIELDS = {
    "npu_chip_info_hbm_bandwidth_utilization": ("bandwidth", "share", 0.01),
    "npu_chip_info_utilization": ("sm", "share", 0.01),
    "npu_chip_info_overall_utilization": ("gpu_duty", "share", 0.01),
    "npu_chip_info_hbm_used_memory": ("memory_used_bytes", "bytes", MB),
    "npu_chip_info_hbm_total_memory": ("memory_total_bytes", "bytes", MB),
    "npu_chip_info_power": ("power_w", "watts", 1),
    "npu_chip_info_temperature": ("temperature_c", "celsius", 1),
    "npu_chip_info_aicore_current_freq": ("sm_clock_mhz", "mhz", 1),
}


def read_npu_exporter(
    lines: Iterable[str],
    *,
    at: float | None = None,
    taken: float = 0.0,
    timezone: str | None = None,
    node: str | None = None,
    **_: object,
) -> Iterator[tuple[float, Card, Reading]]:
    """A reading of each NPU."""
    when, reason = Moment(at, taken, timezone).of(None)
    for stamp, card, reading in scrape(lines, node):
        if stamp is None and reason:
            reading.because(reason)
        yield stamp if stamp is not None and at is None else when, card, reading


def scrape(
    lines: Iterable[str], node: str | None = None
) -> list[tuple[float | None, Card, Reading]]:
    """NPUs with readings and the exporter's own times; FormatError when there are none."""
    chips: dict[str, dict] = {}
    for name, labels, text, stamp in read_samples(lines):
        if not name.startswith("npu_chip_info_") or "id" not in labels:
            continue
        uuid = labels.get("vdie_id") or local_name(
            node,
            f"bus:{labels['pcie_bus_info']}"
            if labels.get("pcie_bus_info")
            else f"index:{labels['id']}",
        )
        chip = chips.setdefault(uuid, {"labels": labels, "values": {}, "time": None})
        chip["time"] = stamp if stamp is not None else chip["time"]
        if name == "npu_chip_info_name" and labels.get("name"):
            chip["labels"] = {"model_name": labels["name"], **chip["labels"]}
        if name in FIELDS:
            chip["values"][name] = text
    if not chips:
        raise FormatError("no npu_chip_info_ sample in it (an exporter that has not started yet?)")
    return [(chip["time"], *_chip(uuid, chip)) for uuid, chip in chips.items()]


def _chip(uuid: str, chip: dict) -> tuple[Card, Reading]:
    labels, values = chip["labels"], chip["values"]
    reading = Reading()
    for name, (field, kind, factor) in FIELDS.items():
        if name not in values:
            continue
        value, reason = _value(values[name], kind, factor)
        setattr(reading, field, value)
        if reason:
            reading.because(f"{field}:{reason}")
    if reading.memory_total_bytes == 0:
        # no card has no memory: the exporter has no reading
        reading.memory_total_bytes = reading.memory_used_bytes = None
        reading.because("memory_total_bytes:not_available")
    if reading.bandwidth is not None:
        reading.source = "ascend_hbm"
    elif "npu_chip_info_hbm_bandwidth_utilization" not in values:
        reading.because("no_hbm_bandwidth")
    if not labels.get("vdie_id"):
        reading.because("identity_by_bus" if labels.get("pcie_bus_info") else "identity_by_index")
    number = labels.get("id", "")
    owner = [labels[k] for k in ("namespace", "pod_name", "container_name") if labels.get(k)]
    if owner:
        reading.processes = [
            {
                "user": None,
                "job": None,
                "container": "/".join(owner),
                "count": None,
                "memory_bytes": None,
            }
        ]
    card = Card(
        "ascend",
        uuid,
        model=labels.get("model_name") or None,
        index=int(number) if number.isascii() and number.isdigit() and len(number) < 9 else None,
    )
    return card, reading


def _value(text: str, kind: str, factor: float) -> tuple[float | None, str | None]:
    try:
        if float(text) in NO_VALUE:
            return None, "not_available"
    except ValueError:
        pass
    return quantity(text, kind, factor)
