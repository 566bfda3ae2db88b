"""Opening rentals: price and rules are frozen, cards are booked, charging begins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction

from governance.kernel.errors import Invalid, Refused
from governance.kernel.money import currency_places
from governance.kernel.policy import SYSTEM, Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks, outbox
from governance.rentals.domain.codec import plan_to_json, rule_to_json
from governance.rentals.domain.spec import RentalSpec
from governance.rentals.models import Component, Rental
from governance.rentals.queries.purchase import purchase_spec
from governance.requests import queries as requests
from governance.requests import services as request_services
from governance.telemetry import queries as telemetry
from governance.telemetry import services as calendar


def create_rental(*, actor: Actor, spec: RentalSpec, now: datetime) -> int:
    """Record a rental with its terms and book its cards; charging goes on from `charged_until`."""
    require(actor, "rentals.purchase")
    _check(spec)
    state = "trial" if spec.trial else "active" if spec.starts_at <= now else "planned"
    try:
        with transaction.atomic():
            rental = Rental.objects.create(
                request_id=spec.request_id,
                project_id=spec.project_id,
                origin=spec.origin,
                external_id=spec.external_id,
                vendor=spec.vendor,
                offer=spec.offer,
                region=spec.region,
                card_model=spec.card_model,
                cards=spec.cards,
                plan_kind=spec.plan_kind,
                currency=spec.currency,
                timezone=spec.timezone,
                starts_at=spec.starts_at,
                ends_at=spec.ends_at,
                state=state,
                auto_renew=spec.auto_renew,
                hold_key=spec.hold_key,
                refund=None if spec.refund is None else rule_to_json(spec.refund),
                paid_before=spec.paid_before,
                charged_from=spec.charged_until,
                charged_until=spec.charged_until,
                next_charge_at=spec.charged_until or spec.starts_at,
                created_at=now,
                created_by=actor.display,
            )
            _create_components(rental, spec)
            _book(rental, spec.card_ids, now)
            audit.record(
                actor=actor, act="rentals.open", thing=rental,
                after={
                    "vendor": spec.vendor,
                    "cards": f"{spec.cards} x {spec.card_model}",
                    "price": f"{spec.plan.price} {spec.currency} {spec.plan.kind}",
                    "from": spec.starts_at.isoformat(),
                    "to": spec.ends_at.isoformat() if spec.ends_at else None,
                },
            )  # fmt: skip
            outbox.emit(
                kind="rentals.opened",
                payload={"rental_id": rental.pk, "request_id": spec.request_id},
                key=f"rental:{rental.pk}:opened",
            )
    except IntegrityError as error:
        if "one_rental_an_external_id" not in str(error):
            raise
        raise Refused(
            Reason(
                "rental_known",
                N_("%(vendor)s has a rental %(id)s here already."),
                {"vendor": spec.vendor, "id": spec.external_id},
            )
        ) from error
    return rental.pk


def open_rental(
    *,
    actor: Actor,
    request_id: int,
    plan_kind: str,
    starts_at: datetime,
    ends_at: datetime | None = None,
    card_ids: Sequence[int] = (),
    price: Decimal | None = None,
    auto_renew: bool = False,
    now: datetime,
) -> int:
    """Buy the package of an approved request; returns the rental's id.

    Freezes the offer's price of today (or the price really obtained), books the cards by the
    request's hold, and makes the request active. Refused (409) where the offer is not sold on
    that plan, the request is not approved, or a card is held by someone else.
    """
    require(actor, "rentals.purchase")
    request = requests.request_for(actor, request_id)
    spec = purchase_spec(
        request,
        plan_kind=plan_kind,
        starts_at=starts_at,
        ends_at=ends_at,
        card_ids=tuple(card_ids),
        price=price,
        auto_renew=auto_renew,
        now=now,
    )
    with transaction.atomic():
        request_services.mark_active(actor=SYSTEM, request_id=request_id, now=now)
        return create_rental(actor=actor, spec=spec, now=now)


def assign_cards(*, actor: Actor, rental_id: int, card_ids: Sequence[int], now: datetime) -> None:
    """Book further cards for a rental, up to the number rented, from now (or its start) on."""
    require(actor, "rentals.manage")
    with transaction.atomic():
        rental = locks.lock_one(Rental.objects.all(), rental_id)
        held = len(telemetry.cards_of_rental(rental.pk))
        if held + len(set(card_ids)) > rental.cards:
            raise _too_many(rental.cards)
        _book(rental, card_ids, now)
        audit.record(
            actor=actor, act="rentals.assign_cards", thing=rental, after={"cards": list(card_ids)}
        )


def _create_components(rental: Rental, spec: RentalSpec) -> None:
    stopped: list[Decimal | None] = [spec.stopped_price if spec.plan.kind == "hourly" else None]
    stopped += [component.stopped_price for component in spec.components]
    kinds = ["cards", *(component.kind for component in spec.components)]
    Component.objects.bulk_create(
        [
            Component(
                rental=rental,
                code=code,
                kind=kind,
                plan=plan_to_json(terms.plan),
                quantity=terms.quantity,
                starts_at=terms.start,
                ends_at=terms.end,
                stopped_price=price,
            )
            for (code, terms), kind, price in zip(spec.terms(), kinds, stopped, strict=True)
        ]
    )


def _book(rental: Rental, card_ids: Sequence[int], now: datetime) -> None:
    for card_id in sorted(set(card_ids)):
        calendar.book_card(
            actor=SYSTEM,
            card_id=card_id,
            starts_at=rental.starts_at,
            ends_at=rental.ends_at,
            project_id=rental.project_id,
            request_id=rental.request_id,
            rental_id=rental.pk,
            now=now,
        )


def _check(spec: RentalSpec) -> None:
    if spec.ends_at is not None and spec.ends_at <= spec.starts_at:
        raise Invalid(Reason("rental_ends", N_("The end must lie after the start.")), "ends_at")
    if spec.cards < 1 or spec.quantity < 1:
        raise Invalid(Reason("rental_cards", N_("At least one card is rented.")), "cards")
    if len(set(spec.card_ids)) > spec.cards:
        raise _too_many(spec.cards)
    if spec.plan.price < 0 or spec.paid_before < 0:
        raise Invalid(Reason("rental_price", N_("A price is 0 or more.")), "price")
    if spec.origin == "own" and not spec.plan.price:
        raise Invalid(
            Reason("own_price", N_("An own machine has an internal price above zero.")), "price"
        )
    try:
        currency_places(spec.currency)
    except ValueError as error:
        text = N_("This is no currency code of ISO 4217, such as CNY.")
        raise Invalid(Reason("rental_currency", text), "currency") from error


def _too_many(cards: int) -> Invalid:
    return Invalid(
        Reason("rental_card_ids", N_("Only %(cards)s cards are rented."), {"cards": cards}),
        "card_ids",
    )
