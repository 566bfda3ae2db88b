"""Recorded series as CSV: ``timestamp, card`` and any of the figures below, at any cadence.

``--columns`` maps names (``timestamp=time,card=gpu_index``) or, for a file without a header,
numbers (``0=timestamp,1=gpu_duty_share``). Cells may carry units; a unit wins over ``--scale``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from collector.formats import FormatError
from collector.formats.cells import quantity
from collector.formats.times import instant, zone
from collector.model import FIDELITY, UNKNOWN, Card, Reading

# column of the file -> (field of the reading, kind)
FIGURES = {
    "bandwidth_share": ("bandwidth", "share"),
    "memory_duty_share": ("memory_duty", "share"),
    "gpu_duty_share": ("gpu_duty", "share"),
    "sm_share": ("sm", "share"),
    "tensor_share": ("tensor", "share"),
    "memory_used_bytes": ("memory_used_bytes", "bytes"),
    "memory_total_bytes": ("memory_total_bytes", "bytes"),
    "power_w": ("power_w", "watts"),
    "temperature_c": ("temperature_c", "celsius"),
    "sm_clock_mhz": ("sm_clock_mhz", "mhz"),
    "memory_clock_mhz": ("memory_clock_mhz", "mhz"),
    "nvlink_bytes_per_s": ("nvlink_rx_bytes_per_s", "bytes_per_s"),
    "pcie_bytes_per_s": ("pcie_rx_bytes_per_s", "bytes_per_s"),
    "net_bytes_per_s": ("net_rx_bytes_per_s", "bytes_per_s"),
    "disk_bytes_per_s": ("disk_read_bytes_per_s", "bytes_per_s"),
}
NAMES = ("timestamp", "card", "model", *FIGURES)
Triple = tuple[float, Card, Reading]


def parse_columns(text: str | None) -> dict[str, str | int]:
    """``--columns`` as {our name: header name or column number}."""
    mapping: dict[str, str | int] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        left, equals, right = (piece.strip() for piece in part.partition("="))
        numbered = left.isascii() and left.isdigit()
        name = right if numbered else left
        place = int(left) if numbered else right
        if not (equals and right) or name not in NAMES:
            raise FormatError(
                f"--columns {part.strip()!r}: write NAME=HEADER or NUMBER=NAME,"
                f" NAME one of {', '.join(NAMES)}"
            )
        if name in mapping:
            raise FormatError(f"--columns names {name} twice")
        mapping[name] = place
    if len({isinstance(place, int) for place in mapping.values()}) > 1:
        raise FormatError("--columns mixes numbers and header names: use one of them")
    return mapping


def read_series(
    lines: Iterable[str],
    *,
    columns: str | None = None,
    scale: str | None = None,
    timezone: str | None = None,
    card: str | None = None,
    node: str | None = None,
    metric_source: str | None = None,
    simulated: bool = False,
    **_: object,
) -> Iterator[Triple]:
    """Readings of a CSV series, in the order of the file. Raises FormatError with the line."""
    source = metric_source or UNKNOWN
    if source not in FIDELITY:
        raise FormatError(f"metric source {source!r}: use one of {', '.join(FIDELITY)}")
    if scale not in (None, "share", "percent"):
        raise FormatError(f"--scale {scale!r}: use percent or share")
    factor = 0.01 if scale == "percent" else 1.0
    local = zone(timezone)
    mapping = parse_columns(columns)
    reader = csv.reader(lines, skipinitialspace=True)
    places = _places(reader, mapping)
    if "card" not in places and card is None:
        raise FormatError("the file has no card column: name the card with --card")
    cards: dict[str, Card] = {}
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) <= places["timestamp"]:
                raise FormatError("the row is cut short before its timestamp")
            at = instant(cells[places["timestamp"]], local)
            name = _cell(cells, places.get("card")).strip() or card
            if not name:
                raise FormatError("the card is empty: fill it in or give --card")
            if name not in cards:
                cards[name] = _card(name, node, _cell(cells, places.get("model")), simulated)
            yield at, cards[name], _reading(cells, places, factor, source)
    except (FormatError, csv.Error) as error:
        raise FormatError(f"line {reader.line_num}: {error}") from None


def _places(reader, mapping: dict[str, str | int]) -> dict[str, int]:
    """Column number of each of our names; reads the header unless numbers are mapped."""
    header: list[str] = []
    if mapping and isinstance(next(iter(mapping.values())), int):
        places = {name: int(place) for name, place in mapping.items()}
    else:
        header = _header(reader)
        for name, wanted in mapping.items():
            if wanted not in header:
                raise FormatError(
                    f"--columns {name}={wanted}: no such column; the file has {', '.join(header)}"
                )
        wanted_names = {name: str(mapping.get(name, name)) for name in NAMES}
        places = {n: header.index(wanted) for n, wanted in wanted_names.items() if wanted in header}
    shown = f"; the file has {', '.join(header)}"[:300] if header else ""
    if "timestamp" not in places:
        raise FormatError(f"no timestamp column: map it with --columns timestamp=HEADER{shown}")
    if not any(name in FIGURES for name in places):
        raise FormatError(
            "no figure column: map one with --columns, for example gpu_duty_share=HEADER"
            f" (figures are {', '.join(FIGURES)}){shown}"
        )
    return places


def _header(reader) -> list[str]:
    try:
        return [cell.strip().lstrip("\ufeff") for cell in next(reader)]
    except StopIteration:
        raise FormatError("the file is empty") from None
    except csv.Error as error:
        raise FormatError(f"line 1: {error}") from None


def _cell(cells: list[str], place: int | None) -> str:
    return cells[place] if place is not None and place < len(cells) else ""


def _card(name: str, node: str | None, model: str, simulated: bool) -> Card:
    bare = name.isascii() and name.isdigit()
    return Card(
        "other" if bare or not name.startswith(("GPU-", "MIG-")) else "nvidia",
        f"{node}/{name}" if node and bare else name,
        model=model.strip() or None,
        index=int(name) if bare and len(name) < 9 else None,
        simulated=simulated,
    )


def _reading(cells: list[str], places: dict[str, int], factor: float, source: str) -> Reading:
    reading = Reading(source)
    for name, (field, kind) in FIGURES.items():
        if name in places:
            value, reason = quantity(
                _cell(cells, places[name]), kind, factor if kind == "share" else 1.0
            )
            setattr(reading, field, value)
            if reason:
                reading.because(reason if name == "bandwidth_share" else f"{field}:{reason}")
    if reading.bandwidth is None and source.startswith("nvml_duty"):
        reading.bandwidth = reading.memory_duty
    elif source.startswith("nvml_duty"):
        reading.memory_duty = reading.bandwidth
    return reading
