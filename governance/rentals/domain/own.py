"""What an own machine costs an hour: nothing that was bought is free."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

HOURS_A_MONTH = Fraction(8760, 12)


@dataclass(frozen=True, slots=True)
class OwnMachine:
    """Purchase price and residual value, months of use, power in kW with its price per kWh, and
    the room (rack, network, hands) a month; `cards` share it all."""

    purchase: Decimal
    residual: Decimal
    months: int
    power_kw: Decimal
    price_per_kwh: Decimal
    room_per_month: Decimal
    cards: int = 1


def hourly_price(machine: OwnMachine) -> Fraction:
    """The internal price of a card-hour, exact.

    ((purchase - residual) / months + room) / 730 + power x price per kWh, over the cards; a month
    is 8,760 / 12 = 730 hours. `ValueError` unless it is above zero.
    """
    if machine.months < 1 or machine.cards < 1 or machine.residual > machine.purchase:
        raise ValueError("months and cards are at least 1, the residual value at most the price")
    wear = Fraction(machine.purchase - machine.residual) / machine.months
    standing = (wear + Fraction(machine.room_per_month)) / HOURS_A_MONTH
    power = Fraction(machine.power_kw) * Fraction(machine.price_per_kwh)
    price = (standing + power) / machine.cards
    if price <= 0:
        raise ValueError("an own machine costs more than nothing")
    return price


def scale_parts(parts: dict[str, Decimal], node_price: Decimal) -> dict[str, Fraction]:
    """Part prices scaled so that they add up to a given node price (30 + 30 + 10 at 35: halves)."""
    whole = sum((Fraction(price) for price in parts.values()), Fraction(0))
    if whole <= 0:
        raise ValueError("the parts of a node cost more than nothing")
    return {name: Fraction(price) * Fraction(node_price) / whole for name, price in parts.items()}
