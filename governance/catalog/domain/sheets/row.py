"""One row of a price sheet, read; and what is wrong with a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation

from governance.catalog.domain.cards import CardSpec
from governance.catalog.domain.offers import OfferView, RoundTrip, TermPrice
from governance.kernel.reasons import N_, Reason


@dataclass(frozen=True, slots=True)
class SheetFault:
    """What is wrong, where: `place` is a line number or the path of a YAML entry."""

    place: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class SheetRow:
    """An offer as a sheet states it. Prices are for one unit of `cards_per_unit` cards."""

    place: str
    sku: str
    region: str
    card_name: str
    cards_per_unit: int
    prices: Mapping[str, Decimal]
    currency: str
    vendor: str = ""
    min_units: int = 1
    max_cards: int | None = None
    cards_per_node: int = 8
    link_kind: str = ""
    link_bytes_per_s: float | None = None
    network_bytes_per_s: float | None = None
    network_shared: bool = False
    storage_read_bytes_per_s: float | None = None
    storage_shared: bool = False
    egress_mbit: float | None = None
    ingress_mbit: float | None = None
    egress_shared: bool = False
    traffic_cap_gb: float | None = None
    overage_per_gb: Decimal | None = None
    line: str = ""
    filing_required: bool | None = None
    filing_days: int | None = None
    host_shared: bool = False
    round_trips: tuple[RoundTrip, ...] = ()
    tax_rate: Decimal = Decimal(0)
    tax_inclusive: bool = True
    valid_from: date | None = None
    valid_to: date | None = None
    source: str = ""
    as_of: date | None = None
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What else the sheet says of a term, by term."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet, read: rows that can be used, faults that stop an import, rows that are not offers
    of cards, and rows to look at."""

    rows: tuple[SheetRow, ...] = ()
    faults: tuple[SheetFault, ...] = ()
    skipped: tuple[SheetFault, ...] = ()
    warnings: tuple[SheetFault, ...] = ()


class Bad(Exception):
    """A cell that cannot be used."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def money_cell(text: str, column: str) -> Decimal | None:
    """A price; empty is not offered. Zero, negative and not-a-number are refused."""
    text = text.strip()
    if not text or text.lower() in ("nan", "none", "null", "n/a", "-"):
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise Bad(
            Reason(
                "not_number",
                N_("%(column)s: “%(value)s” is not a number."),
                {"column": column, "value": text[:40]},
            )
        ) from None
    if not value.is_finite() or value <= 0:
        raise Bad(
            Reason(
                "not_price",
                N_("%(column)s: %(value)s is no price; leave it empty if it is not offered."),
                {"column": column, "value": text[:40]},
            )
        )
    return value


def number_cell(text: str, column: str) -> float | None:
    """A number at or above 0; empty is not known."""
    text = text.strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e18:
        raise Bad(
            Reason(
                "not_number",
                N_("%(column)s: “%(value)s” is not a number."),
                {"column": column, "value": text[:40]},
            )
        )
    return value


def count_cell(text: str, column: str, default: int | None = None) -> int:
    """A whole number of at least 1."""
    value = number_cell(text, column)
    if value is None and default is not None:
        return default
    if value is None or value != int(value) or value < 1:
        raise Bad(
            Reason(
                "not_count",
                N_("%(column)s: a whole number of at least 1 is needed, not “%(value)s”."),
                {"column": column, "value": text.strip()[:40]},
            )
        )
    return int(value)


def to_offer(row: SheetRow, card: CardSpec, vendor: str = "") -> OfferView:
    """The row as the matcher reads it."""
    return OfferView(
        id=row.sku,
        vendor=row.vendor or vendor,
        region=row.region,
        card=card,
        cards_per_unit=row.cards_per_unit,
        min_units=row.min_units,
        max_cards=row.max_cards,
        cards_per_node=row.cards_per_node,
        link_kind=row.link_kind or None,
        link_bytes_per_s=row.link_bytes_per_s,
        network_bytes_per_s=row.network_bytes_per_s,
        network_shared=row.network_shared,
        storage_read_bytes_per_s=row.storage_read_bytes_per_s,
        storage_shared=row.storage_shared,
        egress_mbit=row.egress_mbit,
        ingress_mbit=row.ingress_mbit,
        egress_shared=row.egress_shared,
        traffic_cap_gb=row.traffic_cap_gb,
        overage_per_gb=row.overage_per_gb,
        line=row.line,
        filing_required=row.filing_required,
        filing_days=row.filing_days,
        host_shared=row.host_shared,
        round_trips=row.round_trips,
        prices=tuple(
            TermPrice(
                kind=kind,
                price=price,
                currency=row.currency,
                tax_rate=row.tax_rate,
                tax_inclusive=row.tax_inclusive,
                valid_from=row.valid_from,
                valid_to=row.valid_to,
                source=row.source,
                as_of=row.as_of,
                rules=dict(row.rules.get(kind, {})),
            )
            for kind, price in row.prices.items()
        ),
        source=row.source,
        as_of=row.as_of,
    )
