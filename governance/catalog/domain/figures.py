"""Sourced figures: several may stand for one quantity; the best is used, all stay visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

RANK = ("user", "datasheet", "datasheet_copy", "formula", "measured", "community", "vendor_claim")
"""Best first. `user` is what this team measured or confirmed; `measured` is what others did."""
CONFLICT = 0.03
"""Two sources that differ by more than this share are shown as in conflict."""
UNITS = {
    "memory_gib": "GiB",
    "bus_bits": "bit",
    "pin_rate_gbps": "Gbit/s",
    "bandwidth_gbs": "GB/s",
    "bf16_tflops": "TFLOP/s",
    "fp16_tflops": "TFLOP/s",
    "fp8_tflops": "TFLOP/s",
    "fp32_tflops": "TFLOP/s",
    "matmul_tflops": "TFLOP/s",
    "link_gbs": "GB/s per direction",
    "pcie_gbs": "GB/s per direction",
    "busbw_gbs": "GB/s",
    "copy_gbs": "GB/s",
    "tdp_w": "W",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One published, measured or computed value of one quantity of one card."""

    card: str
    figure: str
    value: float
    unit: str
    source_kind: str
    source_ref: str
    as_of: date
    note: str = ""


def best(figures: Iterable[Figure]) -> Figure | None:
    """The figure to compute with: highest-ranked source, the newest of equals."""
    return min(
        figures, key=lambda f: (RANK.index(f.source_kind), -f.as_of.toordinal()), default=None
    )


def in_conflict(figures: Sequence[Figure]) -> bool:
    """Do two sources of one quantity differ by more than 3 %?"""
    values = [f.value for f in figures]
    return bool(values) and max(values) - min(values) > CONFLICT * max(values)


def bandwidth_by_formula(bus_bits: float, pin_rate_gbps: float) -> float:
    """Theoretical memory bandwidth in GB/s: bus width (bit) x effective rate (Gbit/s a pin) / 8."""
    return bus_bits * pin_rate_gbps / 8


def with_formula(figures: Sequence[Figure]) -> list[Figure]:
    """The figures of one card, with the bandwidth that its bus and rate give, where both are
    known. The formula's figure cites the two it is made of."""
    bus = best(f for f in figures if f.figure == "bus_bits")
    rate = best(f for f in figures if f.figure == "pin_rate_gbps")
    if bus is None or rate is None:
        return list(figures)
    made = Figure(
        card=bus.card,
        figure="bandwidth_gbs",
        value=round(bandwidth_by_formula(bus.value, rate.value), 1),
        unit="GB/s",
        source_kind="formula",
        source_ref=f"{bus.value:g} bit x {rate.value:g} Gbit/s / 8",
        as_of=max(bus.as_of, rate.as_of),
    )
    return [*figures, made]
