"""Hourly, monthly and annual prices at the hours that telemetry shows, per rental."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django.utils.text import slugify

from governance.catalog import queries as catalog
from governance.catalog.domain import OfferView
from governance.kernel.money import currency_places, round_exact
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals import queries as rentals
from governance.rentals.domain.codec import plan_from_json
from governance.rentals.domain.compare import Comparison, compare
from governance.reports.domain.kpis import cost_per_effective_gb_s_hour, cost_per_used_gpu_hour
from governance.reports.domain.tables import Column, Result
from governance.reports.queries.base import Params, answer, report
from governance.reports.queries.names import ids
from governance.telemetry import queries as telemetry

MONTH_HOURS = Decimal(720)
"""A month of 30 days, as break-evens are quoted."""

KINDS = ("hourly", "monthly", "annual")


@dataclass(frozen=True, slots=True)
class Use:
    """How a rental's cards are used. `hours`: active hours of one card in a month of 720 h (None
    unknown), with the P10-P90 band of single days; `share`: bandwidth over all time, from the
    source with most card-hours."""

    hours: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    share: Decimal | None = None
    coverage: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """A rental beside the other terms on offer, for one priced unit."""

    rental: Any
    prices: Mapping[str, Decimal]
    sources: Mapping[str, str]
    quantity: int
    use: Use
    comparison: Comparison | None
    nominal_gb_s: Decimal | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)

    def month_cost(self, kind: str, hours: Decimal) -> Decimal | None:
        """Cost of the whole rental in a month of this use, unrounded parts of a year."""
        if kind not in self.prices:
            return None
        price = Fraction(self.prices[kind])
        exact = {"hourly": price * Fraction(hours), "monthly": price, "annual": price / 12}[kind]
        return round_exact(exact * self.quantity, currency_places(self.rental.currency))


def own_price(rental: Any) -> tuple[str, Decimal, int] | None:
    """Kind, price with tax and quantity of the rental's cards."""
    for component in rental.components.all():
        if component.code == "cards":
            plan = plan_from_json(component.plan)
            taxed = plan.tax is not None and not plan.tax.inclusive
            rate = plan.tax.rate if plan.tax is not None and taxed else Decimal(0)
            return plan.kind, plan.price * (1 + rate), component.quantity
    return None


def offer_of(rental: Any, offers: Iterable[OfferView]) -> OfferView | None:
    """The offer the rental was bought from; else the vendor's offer of the same card (and region,
    where the rental names one) whose unit is nearest to the rental's."""
    offers = list(offers)
    for offer in offers:
        if rental.offer and offer.id == rental.offer:
            return offer
    own = own_price(rental)
    unit = rental.cards / own[2] if own and own[2] else 1
    same = [
        offer
        for offer in offers
        if offer.vendor == slugify(rental.vendor, allow_unicode=True)
        and offer.card.slug == rental.card_model
        and (not rental.region or offer.region == rental.region)
    ]
    return min(same, key=lambda o: (abs(o.cards_per_unit - unit), o.id), default=None)


def prices_of(rental: Any, offer: OfferView | None) -> tuple[dict[str, Decimal], dict[str, str]]:
    """Prices of one unit by kind, with tax: the rental's own, others from the offer for as many
    cards, in the rental's currency only."""
    prices: dict[str, Decimal] = {}
    sources: dict[str, str] = {}
    own = own_price(rental)
    if offer is not None:
        scale = Fraction(rental.cards, (own[2] if own else 1) * offer.cards_per_unit)
        for price in offer.prices:
            if price.kind in KINDS and price.currency == rental.currency:
                prices[price.kind] = shortest(Fraction(price.gross) * scale)
                sources[price.kind] = f"{offer.vendor} {price.source}".strip()
    if own and own[0] in KINDS:
        prices[own[0]] = own[1]
        sources[own[0]] = str(rental)
    return prices, sources


def shortest(value: Fraction) -> Decimal:
    """A price as short as it is exact, else at eight places."""
    rounded = round_exact(value, 8)
    short = round_exact(value, 2)
    return short if Fraction(short) == value else rounded


def compared(viewer: Actor, params: Params, *, banded: bool = False) -> list[Compared]:
    """Every rental of the period beside the terms on offer; `banded` adds daily bands."""
    wanted = ids(viewer, params.filters)
    rows = rentals.rentals_visible_to(viewer).filter(starts_at__lt=params.period.end)
    rows = rows.exclude(ends_at__lte=params.period.start).prefetch_related("components")
    for name, lookup in (
        ("team", "project__team_id"),
        ("project", "project_id"),
        ("rental", "pk"),
        ("vendor", "vendor"),
        ("card_model", "card_model"),
    ):
        if name in wanted:
            rows = rows.filter(**{lookup: wanted[name]})
    found = list(rows)
    offers = catalog.offers_on(params.last)
    uses = usage_of(viewer, params, [r.pk for r in found], banded=banded)
    answer_: list[Compared] = []
    for rental in found:
        offer = offer_of(rental, offers)
        prices, sources = prices_of(rental, offer)
        use = uses.get(rental.pk, Use())
        own = own_price(rental)
        places = currency_places(rental.currency)
        spec = offer.card if offer else None
        nominal = spec.bandwidth_bytes_per_s if spec else None
        answer_.append(
            Compared(
                rental=rental,
                prices=prices,
                sources=sources,
                quantity=own[2] if own else 1,
                use=use,
                comparison=(
                    compare(prices, use.hours if use.hours is not None else MONTH_HOURS, 12, places)
                    if prices
                    else None
                ),
                nominal_gb_s=None if nominal is None else Decimal(str(nominal)) / 10**9,
            )
        )
    return answer_


def usage_of(
    viewer: Actor, params: Params, rental_ids: list[int], *, banded: bool
) -> dict[int, Use]:
    """Use per rental; the share is that of its best covered source, never a mixture."""
    if not rental_ids:
        return {}
    asked: dict[str, Any] = {
        "period": params.period,
        "tz": params.timezone,
        "now": params.now,
        "filters": {"rental": rental_ids} if len(rental_ids) <= 200 else {},
    }
    by_rental: dict[int, list[telemetry.UsageRow]] = {}
    for row in telemetry.usage(viewer, group_by=("rental",), **asked):
        if row.group["rental"] is not None:
            by_rental.setdefault(int(str(row.group["rental"])), []).append(row)
    days: dict[int, dict[object, tuple[float, float]]] = {}
    if banded:
        for row in telemetry.usage(viewer, group_by=("rental", "day"), **asked):
            if row.group["rental"] is None or row.figures["active_hours"] is None:
                continue
            seen = days.setdefault(int(str(row.group["rental"])), {})
            active, known = seen.get(row.group["day"], (0.0, 0.0))
            seen[row.group["day"]] = (
                active + float(row.figures["active_hours"] or 0),
                known + row.card_hours,
            )
    return {
        pk: _use(rows, [a / k for a, k in days.get(pk, {}).values() if k])
        for pk, rows in by_rental.items()
    }


def _use(rows: list[telemetry.UsageRow], daily: list[float]) -> Use:
    known = sum(row.card_hours for row in rows)
    active = [
        row.figures["active_hours"] for row in rows if row.figures["active_hours"] is not None
    ]
    best = max(rows, key=lambda row: row.card_hours)
    share = best.figures["bandwidth_share_mean"]
    return Use(
        hours=_month(sum(active) / known) if active and known else None,
        low=_month(_quantile(daily, 0.1)) if daily else None,
        high=_month(_quantile(daily, 0.9)) if daily else None,
        share=None if share is None else Decimal(str(round(share, 6))),
        coverage=known / best.expected_card_hours if best.expected_card_hours else None,
    )


def _month(active_share: float) -> Decimal:
    return round_exact(Fraction(active_share) * Fraction(MONTH_HOURS), 1)


def _quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@report(
    "price-comparison",
    N_("Price comparison"),
    N_("Which plan is cheapest for the hours really used, and from where on another one pays?"),
    filters=("team", "project", "vendor", "card_model", "rental"),
)
def price_comparison(viewer: Actor, params: Params) -> Result:
    """Per rental, for one unit over 12 months, as `compare_plans` answers; costs at the active
    hours measured (at 720 h a month, all of it, where nothing was measured: `measured` says)."""
    rows = [_row(one) for one in compared(viewer, params) if one.comparison]
    columns = (
        Column("rental", N_("Rental")),
        Column("plan", N_("Plan now")),
        Column("hours_per_month", N_("Used"), "number", N_("h/month"), places=1),
        Column("measured", ""),
        Column("hourly", N_("Hourly"), "money"),
        Column("monthly", N_("Monthly"), "money"),
        Column("annual", N_("Annual"), "money"),
        Column(
            "monthly_vs_hourly",
            N_("Monthly pays from"),
            "number",
            N_("h/month"),
            formula="break_even_hours_per_month",
        ),
        Column(
            "annual_vs_hourly",
            N_("Annual pays from"),
            "number",
            N_("h/month"),
            formula="break_even_hours_per_month",
        ),
        Column(
            "annual_vs_monthly",
            N_("Annual against monthly from"),
            "count",
            N_("month"),
            formula="break_even_months",
        ),
        Column("advice", N_("Cheapest")),
        Column(
            "per_used_gpu_hour",
            N_("Per used card-hour"),
            "number",
            places=4,
            formula="cost_per_used_gpu_hour",
        ),
        Column(
            "per_gb_s_hour",
            N_("Per 1,000 GB/s-h used"),
            "number",
            places=2,
            formula="cost_per_effective_gb_s_hour",
        ),
        Column("coverage", N_("Coverage"), "share"),
        Column("currency", N_("Currency")),
        Column("costs", ""),
        Column("break_even_hours_per_month", ""),
        Column("break_even_months", ""),
        Column("formulas", ""),
    )
    notes = [Reason("year", N_("Costs are for one unit over 12 months at the hours used."))]
    if any(not row["measured"] for row in rows):
        text = N_("Rentals without readings are compared at %(hours)s h a month.")
        notes.append(Reason("unmeasured", text, {"hours": MONTH_HOURS}))
    return answer("price-comparison", params, columns, rows, notes=notes)


def _row(one: Compared) -> dict[str, Any]:
    found, rental = one.comparison, one.rental
    assert found is not None
    hours = {
        name: None if value is None else round_exact(value, 2)
        for name, value in found.break_even_hours_per_month.items()
    }
    used = one.use.hours or Decimal(0)
    month = one.month_cost(rental.plan_kind, used) if rental.plan_kind in KINDS else None
    per_unit = Decimal(rental.cards)
    return {
        "rental": str(rental),
        "id": rental.pk,
        "plan": rental.plan_kind,
        "hours_per_month": one.use.hours,
        "measured": one.use.hours is not None,
        **{kind: found.costs.get(kind) for kind in KINDS},
        **hours,
        **found.break_even_months,
        "advice": found.advice,
        "per_used_gpu_hour": (
            cost_per_used_gpu_hour(month, used * per_unit) if month is not None else None
        ),
        "per_gb_s_hour": per_gb_s(one, month),
        "coverage": one.use.coverage,
        "currency": rental.currency,
        "costs": dict(found.costs),
        "break_even_hours_per_month": hours,
        "break_even_months": found.break_even_months,
        "formulas": found.formulas,
    }


def per_gb_s(one: Compared, month: Decimal | None) -> Decimal | None:
    """A month's cost per 1,000 GB/s-hours really used; None where the share is not measured."""
    if month is None or one.nominal_gb_s is None or one.use.share is None:
        return None
    exact = cost_per_effective_gb_s_hour(
        month, one.nominal_gb_s, one.use.share, MONTH_HOURS * one.rental.cards
    )
    return None if exact is None else round_exact(exact * 1000, 2)
