"""Our own CSV: one row an offer, a column a term; an empty cell is not known or not offered."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from governance.catalog.domain.offers import LINES, RoundTrip
from governance.kernel.reasons import N_, Reason

from .row import Bad, Sheet, SheetFault, SheetRow, count_cell, money_cell, number_cell

PRICES = ("hourly", "daily", "monthly", "quarterly", "annual", "spot")
REQUIRED = ("card", "currency")
COLUMNS = (
    "sku",
    "vendor",
    "region",
    "card",
    "cards_per_unit",
    "min_units",
    "max_cards",
    "cards_per_node",
    "link_kind",
    "link_gbs",
    "network_gbps",
    "network_shared",
    "storage_gbs",
    "storage_shared",
    "egress_mbit",
    "ingress_mbit",
    "egress_shared",
    "traffic_cap_gb",
    "overage_per_gb",
    "line",
    "filing_required",
    "filing_days",
    "host_shared",
    "round_trips",
    *PRICES,
    "currency",
    "tax_rate",
    "tax_inclusive",
    "valid_from",
    "valid_to",
    "source",
    "as_of",
)


def read_native(text: str) -> Sheet:
    """Read the sheet. `link_gbs` and `storage_gbs` are GB/s a direction, `network_gbps` Gbit/s a
    node; `round_trips` is like `cn-south:35 measured; us:180`."""
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    head = [name.strip() for name in reader.fieldnames or []]
    missing = [name for name in REQUIRED if name not in head]
    if missing:
        return Sheet(faults=(_fault(1, N_("The column %(column)s is missing."), missing[0]),))
    unknown = [name for name in head if name not in COLUMNS]
    if unknown:
        return Sheet(faults=(_fault(1, N_("The column %(column)s is not known."), unknown[0]),))
    rows, faults = [], []
    for cells in reader:
        line = reader.line_num
        plain = {str(k).strip(): (v or "").strip() for k, v in cells.items() if k is not None}
        if None in cells or any(v is None for v in cells.values()):
            faults.append(_fault(line, N_("This line has not as many cells as the first.")))
        elif any(plain.values()):
            try:
                rows.append(_row(line, plain))
            except Bad as bad:
                faults.append(SheetFault(str(line), bad.reason))
    return Sheet(rows=tuple(rows), faults=tuple(faults))


def _fault(line: int, text: str, column: str = "") -> SheetFault:
    return SheetFault(str(line), Reason("sheet", text, {"column": column}))


def _row(line: int, cells: Mapping[str, str]) -> SheetRow:
    def cell(name: str) -> str:
        return cells.get(name, "")

    def number(name: str, scale: float = 1.0) -> float | None:
        value = number_cell(cell(name), name)
        return None if value is None else value * scale

    if not cell("card"):
        raise Bad(Reason("no_card", N_("The card is missing.")))
    prices = {kind: money_cell(cell(kind), kind) for kind in PRICES}
    per_unit = count_cell(cell("cards_per_unit"), "cards_per_unit", 1)
    rate = number("tax_rate")
    days = number("filing_days")
    return SheetRow(
        place=str(line),
        sku=cell("sku") or f"{cell('card')} x{per_unit}",
        region=cell("region"),
        card_name=cell("card"),
        cards_per_unit=per_unit,
        prices={kind: price for kind, price in prices.items() if price is not None},
        currency=cell("currency").upper(),
        vendor=cell("vendor"),
        min_units=count_cell(cell("min_units"), "min_units", 1),
        max_cards=count_cell(cell("max_cards"), "max_cards") if cell("max_cards") else None,
        cards_per_node=count_cell(cell("cards_per_node"), "cards_per_node", max(8, per_unit)),
        link_kind=cell("link_kind"),
        link_bytes_per_s=number("link_gbs", 1e9),
        network_bytes_per_s=number("network_gbps", 1e9 / 8),
        network_shared=_yes(cell("network_shared"), "network_shared") or False,
        storage_read_bytes_per_s=number("storage_gbs", 1e9),
        storage_shared=_yes(cell("storage_shared"), "storage_shared") or False,
        egress_mbit=number("egress_mbit"),
        ingress_mbit=number("ingress_mbit"),
        egress_shared=_yes(cell("egress_shared"), "egress_shared") or False,
        traffic_cap_gb=number("traffic_cap_gb"),
        overage_per_gb=money_cell(cell("overage_per_gb"), "overage_per_gb"),
        line=_line(cell("line")),
        filing_required=_yes(cell("filing_required"), "filing_required"),
        filing_days=None if days is None else int(days),
        host_shared=_yes(cell("host_shared"), "host_shared") or False,
        round_trips=_trips(cell("round_trips")),
        tax_rate=Decimal(str(rate)) if rate is not None else Decimal(0),
        tax_inclusive=_yes(cell("tax_inclusive"), "tax_inclusive") is not False,
        valid_from=_day(cell("valid_from"), "valid_from"),
        valid_to=_day(cell("valid_to"), "valid_to"),
        source=cell("source"),
        as_of=_day(cell("as_of"), "as_of"),
    )


def _wrong(column: str, text: str, value: str) -> Bad:
    return Bad(Reason("cell", text, {"column": column, "value": value[:40]}))


def _yes(text: str, column: str) -> bool | None:
    if not text:
        return None
    if text.lower() in ("1", "yes", "true", "y"):
        return True
    if text.lower() in ("0", "no", "false", "n"):
        return False
    raise _wrong(column, N_("%(column)s: yes or no is needed, not “%(value)s”."), text)


def _day(text: str, column: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _wrong(
            column, N_("%(column)s: a date like 2026-01-31 is needed, not “%(value)s”."), text
        ) from None


def _line(text: str) -> str:
    plain = text.lower().replace(" ", "_")
    if plain not in LINES:
        raise _wrong(
            "line", N_("%(column)s: “%(value)s” is none of bgp, cn2, cn2_gia, plain."), text
        )
    return plain


def _trips(text: str) -> tuple[RoundTrip, ...]:
    found = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        region, _, rest = part.rpartition(":")
        value, _, how = rest.strip().partition(" ")
        try:
            found.append(RoundTrip(region.strip(), float(value), how.strip() == "measured"))
        except ValueError:
            raise _wrong(
                "round_trips",
                N_("%(column)s: “%(value)s” is not like “cn-south:35 measured”."),
                part,
            ) from None
    return tuple(found)
