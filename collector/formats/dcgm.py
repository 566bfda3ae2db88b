"""dcgm-exporter's ``/metrics``: field 1005 is DRAM bandwidth, MEM_COPY_UTIL is a duty cycle.

DCGM says "no value" by the largest numbers of a type. Which numbers those are depends on the kind
of the field: a cumulative counter may rightly pass the bound of a ratio.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collector.formats import FormatError
from collector.formats.cells import in_range, quantity
from collector.formats.dumps import Moment, duty_as_bandwidth, local_name
from collector.formats.prometheus import read_samples
from collector.model import Card, Reading

INT64_BLANK, INT32_BLANK, FP64_BLANK = 0x7FFFFFFFFFFFFFF0, 0x7FFFFFF0, 140737488355328.0
BLANKS = ("blank", "not_found", "not_supported", "no_permission")
MIB = 2**20
# metric -> (field, kind, factor to base units)
FIELDS = {
    "DCGM_FI_PROF_DRAM_ACTIVE": ("bandwidth", "share", 1),
    "DCGM_FI_PROF_DRAM_UTIL_RATIO": ("bandwidth", "share", 1),
    "DCGM_FI_DEV_MEM_COPY_UTIL": ("memory_duty", "share", 0.01),
    "DCGM_FI_DEV_GPU_UTIL": ("gpu_duty", "share", 0.01),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("engine", "share", 1),
    "DCGM_FI_PROF_SM_ACTIVE": ("sm", "share", 1),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("tensor", "share", 1),
    "DCGM_FI_DEV_FB_USED": ("memory_used_bytes", "bytes", MIB),
    "DCGM_FI_DEV_FB_FREE": ("free", "bytes", MIB),
    "DCGM_FI_DEV_FB_RESERVED": ("reserved", "bytes", MIB),
    "DCGM_FI_DEV_FB_TOTAL": ("memory_total_bytes", "bytes", MIB),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", "watts", 1),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", "celsius", 1),
    "DCGM_FI_DEV_SM_CLOCK": ("sm_clock_mhz", "mhz", 1),
    "DCGM_FI_DEV_MEM_CLOCK": ("memory_clock_mhz", "mhz", 1),
    "DCGM_FI_DEV_MAX_MEM_CLOCK": ("clock_max", "mhz", 1),
    "DCGM_FI_PROF_PCIE_RX_BYTES": ("pcie_rx_bytes_per_s", "bytes_per_s", 1),
    "DCGM_FI_PROF_PCIE_TX_BYTES": ("pcie_tx_bytes_per_s", "bytes_per_s", 1),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": ("nvlink_rx_bytes_per_s", "bytes_per_s", 1),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": ("nvlink_tx_bytes_per_s", "bytes_per_s", 1),
}


def blank(text: str, kind: str = "count") -> str | None:
    """Why DCGM has no value, by the sentinels of the field's kind, or None for a real one.

    Byte rates are 64-bit: 2147483632 bytes/s is a rate that a link may have.
    """
    try:
        whole = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return None
        if not number >= FP64_BLANK:
            return None
        offset = int(min(number, 2.0**62) - FP64_BLANK)
        return BLANKS[offset] if offset < len(BLANKS) else "blank"
    for base in (INT64_BLANK, INT32_BLANK, int(FP64_BLANK)):
        if base == INT32_BLANK and kind == "bytes_per_s":
            continue
        if base <= whole <= base + 15:
            return BLANKS[min(whole - base, 3)]
    return "blank" if whole >= FP64_BLANK else None


def read_dcgm(
    lines: Iterable[str],
    *,
    at: float | None = None,
    taken: float = 0.0,
    timezone: str | None = None,
    node: str | None = None,
    **_: object,
) -> Iterator[tuple[float, Card, Reading]]:
    """A reading of each card and each MIG instance."""
    when, reason = Moment(at, taken, timezone).of(None)
    for stamp, card, reading in scrape(lines, node):
        if stamp is None and reason:
            reading.because(reason)
        yield stamp if stamp is not None and at is None else when, card, reading


def scrape(
    lines: Iterable[str], node: str | None = None
) -> list[tuple[float | None, Card, Reading]]:
    """Cards with readings and the exporter's own times; FormatError when there are none."""
    units: dict[tuple[str, str], dict] = {}
    for name, labels, text, stamp in read_samples(lines):
        if not name.startswith("DCGM_FI_"):
            continue
        low = {key.lower(): value for key, value in labels.items()}
        uuid = low.get("uuid") or local_name(node, f"index:{low.get('gpu', '')}")
        instance = low.get("gpu_i_id", "")
        unit = units.setdefault((uuid, instance), {"labels": low, "values": {}, "time": None})
        unit["labels"] = {**low, **{k: v for k, v in unit["labels"].items() if v}}
        unit["time"] = stamp if stamp is not None else unit["time"]
        if name in FIELDS:
            unit["values"][FIELDS[name][0]] = (text, *FIELDS[name][1:])
    if not units:
        raise FormatError("no DCGM_FI_ sample in it (an exporter that has not started yet?)")
    return [
        (unit["time"], *_unit(uuid, instance, unit["labels"], unit["values"]))
        for (uuid, instance), unit in units.items()
    ]


def _unit(uuid: str, instance: str, labels: dict, values: dict) -> tuple[Card, Reading]:
    index = labels.get("gpu", "")
    card = Card(
        "nvidia",
        f"{uuid}/{instance}" if instance else uuid,
        model=labels.get("modelname"),
        index=int(index) if index.isascii() and index.isdigit() else None,
        parent=uuid if instance else None,
    )
    reading = Reading()
    spare: dict[str, float | None] = {}
    for field, (text, kind, factor) in values.items():
        value, reason = None, blank(text, kind)
        if reason is None:
            value, reason = quantity(text, kind, factor)
        if field in Reading.FIELDS:
            setattr(reading, field, value)
            if reason:
                reading.because(f"{field}:{reason}")
        else:
            spare[field] = value
    if reading.gpu_duty is None:
        reading.gpu_duty = spare.get("engine")
    _memory(reading, spare)
    if reading.bandwidth is not None:
        reading.source = "dcgm_1005"
        if instance:
            reading.because("mig_denominator_unverified")
    elif not instance:
        if "bandwidth" not in values:
            reading.because("no_field_1005")
        duty_as_bandwidth(reading, spare.get("clock_max"))
    reading.processes = _owner(labels)
    return card, reading


def _memory(reading: Reading, spare: dict[str, float | None]) -> None:
    used, free = reading.memory_used_bytes, spare.get("free")
    if reading.memory_total_bytes is None and used is not None and free is not None:
        total, _ = in_range(used + free + (spare.get("reserved") or 0), "bytes")
        reading.memory_total_bytes = total


def _owner(labels: dict[str, str]) -> list[dict[str, object]] | None:
    pod = [labels[key] for key in ("namespace", "pod", "container") if labels.get(key)]
    job = labels.get("hpc_job")
    if not (pod or job):
        return None
    return [
        {
            "user": None,
            "job": job or None,
            "container": "/".join(pod) or None,
            "count": None,
            "memory_bytes": None,
        }
    ]
