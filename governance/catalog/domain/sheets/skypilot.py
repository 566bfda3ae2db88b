"""SkyPilot's catalogue CSV. Prices are in US dollars for the whole instance; an instance without
an accelerator is a host whose cards, if any, are sold by another row. `GpuInfo` holds a Python
expression: it is never evaluated, only searched for the memory size."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping

from governance.kernel.reasons import N_, Reason

from .row import Bad, Sheet, SheetFault, SheetRow, count_cell, money_cell

NEEDED = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region")
GPU_NAMES = re.compile(r"gpu|^(a2|a3|a4|g2|g4|p3|p4|p5|p6|g5|g6)[-.d]", re.I)


def read_skypilot(text: str) -> Sheet:
    """Read the sheet; rows without accelerator are skipped with the reason."""
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    missing = [name for name in NEEDED if name not in (reader.fieldnames or [])]
    if missing:
        reason = Reason("sheet", N_("The column %(column)s is missing."), {"column": missing[0]})
        return Sheet(faults=(SheetFault("1", reason),))
    rows: list[SheetRow] = []
    faults: list[SheetFault] = []
    skipped: list[SheetFault] = []
    warnings: list[SheetFault] = []
    for cells in reader:
        place = str(reader.line_num)
        plain = {str(k): (v or "").strip() for k, v in cells.items() if k is not None}
        if not plain["AcceleratorName"]:
            skipped.append(SheetFault(place, _host(plain)))
            continue
        try:
            row = _row(place, plain)
        except Bad as bad:
            faults.append(SheetFault(place, bad.reason))
            continue
        if not row.prices:
            skipped.append(SheetFault(place, Reason("no_price", N_("No price: not offered."))))
            continue
        rows.append(row)
        warnings += [SheetFault(place, reason) for reason in _odd(plain, row)]
    return Sheet(tuple(rows), tuple(faults), tuple(skipped), tuple(warnings))


def _host(cells: Mapping[str, str]) -> Reason:
    if GPU_NAMES.search(cells["InstanceType"]):
        return Reason(
            "host_only",
            N_("%(name)s names no accelerator: the price is of the host without its cards."),
            {"name": cells["InstanceType"]},
        )
    return Reason("no_accelerator", N_("No accelerator in this row."))


def _row(place: str, cells: Mapping[str, str]) -> SheetRow:
    count = count_cell(cells["AcceleratorCount"], "AcceleratorCount")
    prices = {
        "hourly": money_cell(cells["Price"], "Price"),
        "spot": money_cell(cells.get("SpotPrice", ""), "SpotPrice"),
    }
    zone = cells.get("AvailabilityZone", "")
    return SheetRow(
        place=place,
        sku=cells["InstanceType"] or f"{cells['AcceleratorName']} x{count}",
        region=zone or cells["Region"],
        card_name=cells["AcceleratorName"],
        cards_per_unit=count,
        cards_per_node=max(1, count),
        prices={kind: price for kind, price in prices.items() if price is not None},
        currency="USD",
        source="SkyPilot catalogue",
    )


def _odd(cells: Mapping[str, str], row: SheetRow) -> list[Reason]:
    found = []
    size = re.search(r"SizeInMiB'?\"?:\s*(\d+)", cells.get("GpuInfo", ""))
    if size and int(size.group(1)) < 1024:
        found.append(
            Reason(
                "memory_unit",
                N_("Memory of %(size)s MiB is GiB in truth: the catalogue's own figure is used."),
                {"size": size.group(1)},
            )
        )
    hourly, spot = row.prices.get("hourly"), row.prices.get("spot")
    if hourly is not None and spot is not None and spot >= hourly:
        found.append(
            Reason("spot_no_discount", N_("The spot price is not below the hourly price."))
        )
    return found
