"""From an approved request to the terms it can be bought on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from governance.accounts import queries as accounts
from governance.budgets import queries as budgets
from governance.catalog import queries as catalog
from governance.catalog.domain import OfferView, TermPrice
from governance.kernel.errors import Refused
from governance.kernel.money import currency_places
from governance.kernel.reasons import N_, Reason
from governance.rentals.domain.spec import RentalSpec
from governance.rentals.domain.termination import TerminationRule
from governance.rentals.domain.terms import Plan, PlanKind, Tax
from governance.rentals.domain.vendors import rule_sets


def offer_of(request: Any, now: datetime) -> OfferView:
    """The chosen package's offer with its prices of today; Refused where it is gone."""
    package = request.package or {}
    if package.get("idle_id"):
        raise Refused(
            Reason("own_cards", N_("This package uses cards you have; nothing is bought for it."))
        )
    offers = {offer.id: offer for offer in catalog.offers_on(budgets.local_day(now))}
    offer = offers.get(str(package.get("offer_id")))
    if offer is None:
        raise Refused(Reason("offer_gone", N_("The chosen offer is no longer sold.")))
    return offer


def purchase_options(request: Any, now: datetime) -> list[TermPrice]:
    """The plans on which the request's package is sold today."""
    return list(offer_of(request, now).prices)


def purchase_spec(
    request: Any,
    *,
    plan_kind: str,
    starts_at: datetime,
    ends_at: datetime | None,
    now: datetime,
    card_ids: tuple[int, ...] = (),
    price: Decimal | None = None,
    auto_renew: bool = False,
) -> RentalSpec:
    """The rental that buying the request's package on a plan makes; nothing is stored.

    Without an end it runs as long as was approved. The vendor's rules come with the price.
    """
    offer = offer_of(request, now)
    sold = {sold.kind: sold for sold in offer.prices}
    if plan_kind not in sold:
        raise Refused(
            Reason(
                "plan_not_sold",
                N_("This offer is not sold %(plan)s; it is sold %(known)s."),
                {"plan": plan_kind, "known": ", ".join(sold)},
            )
        )
    term = sold[plan_kind]
    plan, refund, begins = plan_of(term, sold, starts_at, price)
    end = ends_at
    if end is None and request.ends_at is not None:
        end = starts_at + (request.ends_at - request.starts_at)
    return RentalSpec(
        project_id=request.project_id,
        vendor=offer.vendor,
        card_model=offer.card.slug,
        cards=int(request.package["count"]),
        currency=term.currency,
        timezone=accounts.organisation().timezone,
        plan=plan,
        starts_at=begins,
        ends_at=end,
        quantity=int(request.package["units"]),
        offer=offer.id,
        region=offer.region,
        request_id=request.pk,
        hold_key=request.hold_key,
        card_ids=card_ids,
        auto_renew=auto_renew,
        spot=plan_kind == "spot",
        refund=refund,
    )


def plain(price: Decimal) -> Decimal:
    """The same price without needless zeros, with at least two decimals."""
    short = price.normalize()
    places = max(2, -int(short.as_tuple().exponent))
    return short.quantize(Decimal(1).scaleb(-places))


def plan_of(
    term: TermPrice, sold: dict[str, TermPrice], starts_at: datetime, price: Decimal | None
) -> tuple[Plan, TerminationRule | None, datetime]:
    """A price as a plan by the vendor's rule set (`rules: {"rule_set": NAME}`), its refund rule,
    and when a term bought for `starts_at` begins."""
    kind = cast(PlanKind, "hourly" if term.kind == "spot" else term.kind)
    tax = Tax(term.tax_rate, term.tax_inclusive) if term.tax_rate else None
    amount = plain(term.price if price is None else price)
    rules = rule_sets().get(str(term.rules.get("rule_set", "plain")), rule_sets()["plain"])
    if kind not in rules.kinds:
        rules = rule_sets()["plain"]
    plan = rules.plan(kind, amount, places=currency_places(term.currency), tax=tax)
    refund = None
    if kind != "hourly":
        monthly, hourly = sold.get("monthly"), sold.get("hourly")
        refund = rules.termination(
            monthly=monthly.price if monthly else Decimal(0),
            hourly=hourly.price if hourly else Decimal(0),
            listed=term.price,
        )
        if rules.refund in ("months_and_hours", "daily_penalty") and not (monthly and hourly):
            refund = replace(refund, name="straight")
    return plan, refund, rules.begins(starts_at)
