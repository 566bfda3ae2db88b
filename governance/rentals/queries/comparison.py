"""A rental's plan beside the other plans of its offer, at the hours that its cards really ran."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from django.utils.text import slugify

from governance.budgets import queries as budgets
from governance.catalog import queries as catalog
from governance.kernel.money import currency_places, round_exact
from governance.kernel.periods import Period
from governance.kernel.policy import Actor
from governance.rentals.domain.codec import plan_from_json
from governance.rentals.domain.compare import KINDS, Comparison, compare
from governance.rentals.models import Rental
from governance.telemetry import queries as telemetry

MONTH_HOURS = 720
LOOKBACK = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """Costs of one unit for twelve months. `hours` is active time of a card in a month of 720 h
    (None: not measured; then the whole month is taken), `coverage` the share of hours known."""

    comparison: Comparison
    prices: dict[str, Decimal]
    hours: Decimal | None
    coverage: float | None


def plan_comparison(viewer: Actor, rental: Rental, now: datetime) -> PlanComparison | None:
    """None where the rental has no price of a comparable plan."""
    prices = _prices(rental, now)
    if not prices:
        return None
    hours, coverage = _hours(viewer, rental, now)
    places = currency_places(rental.currency)
    used = Decimal(MONTH_HOURS) if hours is None else hours
    return PlanComparison(compare(prices, used, 12, places), prices, hours, coverage)


def _prices(rental: Rental, now: datetime) -> dict[str, Decimal]:
    """Prices with tax by plan, of one unit of the rental, in its currency."""
    component = rental.components.get(code="cards")
    own = plan_from_json(component.plan)
    prices: dict[str, Decimal] = {}
    vendor = slugify(rental.vendor, allow_unicode=True)
    for offer in catalog.offers_on(budgets.local_day(now)):
        alike = (offer.vendor, offer.card.slug) == (vendor, rental.card_model)
        if offer.id == rental.offer or (alike and rental.region in ("", offer.region)):
            units = Fraction(rental.cards, component.quantity * offer.cards_per_unit)
            for price in offer.prices:
                if price.kind in KINDS and price.currency == rental.currency:
                    prices[price.kind] = round_exact(Fraction(price.gross) * units, 8).normalize()
    if own.kind in KINDS:
        taxed = own.tax is not None and not own.tax.inclusive
        rate = own.tax.rate if own.tax is not None and taxed else Decimal(0)
        prices[own.kind] = (own.price * (1 + rate)).normalize()
    return prices


def _hours(viewer: Actor, rental: Rental, now: datetime) -> tuple[Decimal | None, float | None]:
    end = now.replace(minute=0, second=0, microsecond=0)
    start = max(end - LOOKBACK, rental.starts_at.replace(minute=0, second=0, microsecond=0))
    if start >= end:
        return None, None
    rows = telemetry.usage(
        viewer, period=Period(start, end), tz=rental.timezone, now=now,
        group_by=("rental",), filters={"rental": rental.pk},
    )  # fmt: skip
    known = sum(row.card_hours for row in rows)
    active = [row.figures["active_hours"] for row in rows]
    found = [hours for hours in active if hours is not None]
    if not known or not found:
        return None, None
    share = Fraction(sum(found)) / Fraction(known)
    expected = max(row.expected_card_hours for row in rows)
    return round_exact(share * MONTH_HOURS, 1), known / expected if expected else None
