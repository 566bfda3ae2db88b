"""Offers as the matcher reads them: plain records, no database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from .cards import CardSpec

TERMS = ("hourly", "daily", "monthly", "quarterly", "annual", "spot")
LINES = ("bgp", "cn2", "cn2_gia", "plain", "")


@dataclass(frozen=True, slots=True)
class TermPrice:
    """The price of one unit for one term (an hour, a day, a month, ...)."""

    kind: str
    price: Decimal
    currency: str
    tax_rate: Decimal = Decimal(0)
    tax_inclusive: bool = True
    valid_from: date | None = None
    valid_to: date | None = None
    """First day on which the price no longer holds."""
    source: str = ""
    as_of: date | None = None
    id: int | None = None
    rules: dict[str, object] = field(default_factory=dict)

    @property
    def gross(self) -> Decimal:
        return self.price if self.tax_inclusive else self.price * (1 + self.tax_rate)


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Round-trip time to the users of one region, milliseconds; measured or claimed."""

    region: str
    milliseconds: float
    measured: bool = False


@dataclass(frozen=True, slots=True)
class OfferView:
    """One thing that can be rented. A unit is the smallest thing sold: `cards_per_unit` cards.
    Rates are bytes per second per direction per node; None is not known."""

    id: str
    vendor: str
    region: str
    card: CardSpec
    cards_per_unit: int = 1
    min_units: int = 1
    max_cards: int | None = None
    cards_per_node: int = 8
    link_kind: str | None = None
    """Overrides the card's own link where the vendor's node is built otherwise."""
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
    prices: tuple[TermPrice, ...] = ()
    source: str = ""
    as_of: date | None = None


@dataclass(frozen=True, slots=True)
class IdleCards:
    """Cards already paid for that stand idle or under-used in the asked window."""

    id: str
    offer: OfferView
    """The hardware (its prices are not used)."""
    count: int
    starts_at: datetime
    ends_at: datetime
    holder: str
    """Whose they are, in words a person reads."""
    card_ids: tuple[int, ...] = ()
    displaced_per_hour: Decimal = Decimal(0)
    """Cost per card-hour of what the displaced use would have to rent instead; 0 if idle."""
    currency: str = "CNY"
