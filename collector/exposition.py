"""Prometheus text: base units, identity by UUID, index and model only in ``gpu_info``.

Figures are those of the newest reading. A figure that is unknown is left out; a reading that is
too old is left out altogether, so that a dead source never repeats its last values.
"""

from __future__ import annotations

import math

from collector import __version__
from collector.model import FIDELITY, LOST

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
GAUGES = (
    # name, field, factor, help
    ("gpu_duty_ratio", "gpu_duty", 1, "Share of time in which a kernel ran."),
    (
        "gpu_memory_duty_ratio",
        "memory_duty",
        1,
        "Share of time in which device memory was touched; an upper bound of bandwidth use.",
    ),
    ("gpu_sm_active_ratio", "sm", 1, "SM activity."),
    ("gpu_tensor_active_ratio", "tensor", 1, "Tensor-core activity."),
    ("gpu_memory_used_bytes", "memory_used_bytes", 1, "Device memory in use."),
    ("gpu_memory_total_bytes", "memory_total_bytes", 1, "Device memory."),
    ("gpu_power_watts", "power_w", 1, "Power drawn."),
    ("gpu_temperature_celsius", "temperature_c", 1, "Temperature of the card."),
    ("gpu_sm_clock_hertz", "sm_clock_mhz", 1e6, "SM clock."),
    ("gpu_memory_clock_hertz", "memory_clock_mhz", 1e6, "Memory clock."),
    ("gpu_memory_clock_ratio", "clock_ratio", 1, "Memory clock over its maximum."),
    (
        "gpu_pcie_receive_bytes_per_second",
        "pcie_rx_bytes_per_s",
        1,
        "PCIe bytes into the card.",
    ),
    ("gpu_pcie_transmit_bytes_per_second", "pcie_tx_bytes_per_s", 1, "PCIe bytes out."),
    (
        "gpu_nvlink_receive_bytes_per_second",
        "nvlink_rx_bytes_per_s",
        1,
        "NVLink bytes in.",
    ),
    (
        "gpu_nvlink_transmit_bytes_per_second",
        "nvlink_tx_bytes_per_s",
        1,
        "NVLink bytes out.",
    ),
)
COUNTERS = (
    ("gpu_xid_errors_total", "xid", "XID events since the agent started."),
    (
        "gpu_ecc_corrected_errors_total",
        "ecc_corrected",
        "Corrected ECC errors since the start.",
    ),
    (
        "gpu_ecc_uncorrected_errors_total",
        "ecc_uncorrected",
        "Uncorrected ECC errors since the start.",
    ),
)


def label(value: object) -> str:
    """A label value, quoted and escaped."""
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def number(value: float) -> str:
    return repr(value) if isinstance(value, int) else f"{value:.10g}"


class _Text:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def family(self, name: str, kind: str, text: str, samples: list[tuple[dict, float]]) -> None:
        if not samples:
            return
        self.lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for labels, value in samples:
            if value is None or not math.isfinite(value):
                continue
            inner = ",".join(f"{key}={label(text)}" for key, text in labels.items())
            self.lines.append(
                f"{name}{{{inner}}} {number(value)}" if inner else f"{name} {number(value)}"
            )


def render(agent, requests: dict[tuple[str, int], int]) -> str:
    """The whole ``/metrics`` text."""
    out = _Text()
    fresh = _fresh(agent)
    out.family(
        "gpu_info",
        "gauge",
        "Identity of a card; index is for display only.",
        [
            (
                {
                    "uuid": card.uuid,
                    "vendor": card.vendor,
                    "model": card.model or "",
                    "index": "" if card.index is None else card.index,
                    "parent": card.parent or "",
                },
                1,
            )
            for _, card, _ in fresh
        ],
    )
    out.family(
        "gpu_up",
        "gauge",
        "1 when the card can be read, 0 when it is lost.",
        [({"uuid": card.uuid}, int(LOST not in reading.reasons)) for _, card, reading in fresh],
    )
    out.family(
        "gpu_dram_bandwidth_ratio",
        "gauge",
        "Device memory bandwidth used over its peak; what it proves depends on fidelity.",
        [
            (
                {"source": r.source, "fidelity": FIDELITY[r.source], "uuid": card.uuid},
                r.bandwidth,
            )
            for _, card, r in fresh
            if r.bandwidth is not None
        ],
    )
    for name, field, factor, text in GAUGES:
        samples = [
            ({"uuid": card.uuid}, value * factor)
            for _, card, reading in fresh
            if (value := getattr(reading, field)) is not None
        ]
        out.family(name, "gauge", text, samples)
    for name, field, text in COUNTERS:
        samples = [
            ({"uuid": uuid}, value)
            for (_, uuid, kind), value in sorted(agent.totals.items())
            if kind == field
        ]
        out.family(name, "counter", text, samples)
    _own(out, agent, requests)
    return "\n".join(out.lines) + "\n"


def _fresh(agent) -> list[tuple]:
    limit = max(5.0, 5 * agent.settings.interval)
    if hasattr(agent.source, "play"):
        return list(agent.latest.copy().values())
    now = agent.spool.clock()
    return [entry for entry in agent.latest.copy().values() if abs(now - entry[0]) <= limit]


def _own(out: _Text, agent, requests: dict[tuple[str, int], int]) -> None:
    ready, _ = agent.ready()
    counts = agent.counts
    spool = agent.spool
    with spool.read_lock:
        rows, newest = spool.read("SELECT count(*), coalesce(max(seq), 0) FROM row")[0]
        pages, free, size = (
            spool.read(f"PRAGMA {name}")[0][0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    out.family(
        "collector_build_info",
        "gauge",
        "Version of the agent.",
        [({"version": __version__}, 1)],
    )
    out.family("collector_ready", "gauge", "1 when readings flow.", [({}, int(ready))])
    if agent.last_sample is not None:
        out.family(
            "collector_last_sample_timestamp_seconds",
            "gauge",
            "Unix time of the newest reading.",
            [({}, agent.last_sample)],
        )
    out.family("collector_ticks_total", "counter", "Ticks taken.", [({}, counts["ticks"])])
    out.family(
        "collector_ticks_missed_total",
        "counter",
        "Ticks left out.",
        [({}, counts["missed"])],
    )
    out.family(
        "collector_tick_seconds_total",
        "counter",
        "Time spent in ticks, reading and storing.",
        [({}, counts["tick_seconds"])],
    )
    out.family("collector_spool_rows", "gauge", "Rows kept.", [({}, rows)])
    out.family("collector_spool_sequence", "gauge", "Newest sequence number.", [({}, newest)])
    out.family(
        "collector_spool_bytes",
        "gauge",
        "Size of the spool.",
        [({}, (pages - free) * size)],
    )
    out.family(
        "collector_http_requests_total",
        "counter",
        "Requests answered.",
        [
            ({"path": path, "code": code}, value)
            for (path, code), value in sorted(requests.copy().items())
        ],
    )
