"""Changes of a running rental. Each has its instant, its reason and an audit row; what was
charged before stays, and the next charge run settles the difference."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import SYSTEM, Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks, outbox
from governance.rentals.domain.codec import rule_to_json
from governance.rentals.domain.lifecycle import LIFECYCLE
from governance.rentals.domain.termination import TerminationRule
from governance.rentals.models import Component, Rental, RentalChange
from governance.telemetry import queries as telemetry
from governance.telemetry import services as calendar


def change_price(
    *, actor: Actor, rental_id: int, price: Decimal, at: datetime, reason: str, now: datetime
) -> int:
    """A new price of the cards from an instant on (not before what is charged already)."""
    if not price.is_finite() or price < 0:
        raise Invalid(Reason("rental_price", N_("A price is 0 or more.")), "price")
    return _change(actor, rental_id, "reprice", at, reason, now, price=price)


def change_quantity(
    *, actor: Actor, rental_id: int, quantity: int, at: datetime, reason: str, now: datetime
) -> int:
    """More or fewer units from an instant on; the cards follow in proportion."""
    if quantity < 1:
        raise Invalid(
            Reason("rental_quantity", N_("At least one is kept; end the rental instead.")),
            "quantity",
        )
    with transaction.atomic():
        rental = _locked(actor, rental_id)
        component = rental.components.get(code="cards")
        now_has = quantity_now(component)
        kind = "upgrade" if quantity > now_has else "downgrade"
        per_unit, rest = divmod(rental.cards, now_has)
        if not rest:
            rental.cards = per_unit * quantity
            rental.save(update_fields=["cards"])
        return _change(actor, rental_id, kind, at, reason, now, quantity=quantity)


def extend_rental(
    *, actor: Actor, rental_id: int, ends_at: datetime, now: datetime, kind: str = "extend",
    reason: str = "",
) -> int:  # fmt: skip
    """A later end, or a renewal (`kind` renew); its cards stay booked with it."""
    with transaction.atomic():
        rental = _locked(actor, rental_id)
        if rental.ends_at is None or ends_at <= rental.ends_at:
            raise Invalid(
                Reason("extend", N_("The new end must lie after the present one.")), "ends_at"
            )
        for holding in telemetry.holdings_of_rental(rental.pk):
            if holding.ends_at == rental.ends_at:
                calendar.extend_booking(actor=SYSTEM, holding_id=holding.id, until=ends_at, now=now)
        pk = _change(actor, rental_id, kind, now, reason, now, end=ends_at)
        Rental.objects.filter(pk=rental_id).update(ends_at=ends_at)
        return pk


def end_rental(
    *,
    actor: Actor,
    rental_id: int,
    at: datetime,
    reason: str,
    now: datetime,
    rule: TerminationRule | None = None,
) -> int:
    """End early at an instant. What comes back follows the given rule, else the rental's own,
    else it is the unused share."""
    with transaction.atomic():
        rental = _locked(actor, rental_id)
        if at < rental.starts_at or (rental.ends_at is not None and at >= rental.ends_at):
            raise Invalid(
                Reason("end_early", N_("An early end lies between the start and the end.")), "at"
            )
        for holding in telemetry.holdings_of_rental(rental.pk):
            if holding.ends_at is None or holding.ends_at > at:
                calendar.end_booking(actor=SYSTEM, holding_id=holding.id, at=at, now=now)
        pk = _change(
            actor, rental_id, "end_early", at, reason, now,
            end=at, rule=rental.refund if rule is None else rule_to_json(rule),
        )  # fmt: skip
        Rental.objects.filter(pk=rental_id).update(ends_at=at)
        outbox.emit(
            kind="rentals.ended",
            payload={"rental_id": rental.pk, "request_id": rental.request_id},
            key=f"rental:{rental.pk}:ended",
        )
        return pk


def stop_rental(*, actor: Actor, rental_id: int, at: datetime, reason: str, now: datetime) -> int:
    """Stop an hourly rental: the cards cost their stopped price, disks and the like go on."""
    with transaction.atomic():
        rental = _locked(actor, rental_id)
        component = rental.components.get(code="cards")
        if component.stopped_price is None:
            raise Refused(
                Reason("no_stop", N_("A prepaid rental costs the same when stopped; end it."))
            )
        return _change(actor, rental_id, "stop", at, reason, now, price=component.stopped_price)


def start_rental(*, actor: Actor, rental_id: int, at: datetime, reason: str, now: datetime) -> int:
    """Start a stopped rental again at the price it had before."""
    with transaction.atomic():
        rental = _locked(actor, rental_id)
        component = rental.components.get(code="cards")
        priced = component.changes.exclude(kind="stop").exclude(price=None).order_by("-at", "-pk")
        last = priced.first()
        price = (
            Decimal(component.plan["price"]) if last is None or last.price is None else last.price
        )
        return _change(actor, rental_id, "start", at, reason, now, price=price)


def set_auto_renew(*, actor: Actor, rental_id: int, on: bool, reason: str) -> None:
    """Whether the rental renews itself; a flagged card's rental asks for this decision again."""
    require(actor, "rentals.manage")
    with transaction.atomic():
        rental = locks.lock_one(Rental.objects.all(), rental_id)
        before, rental.auto_renew = rental.auto_renew, on
        rental.save(update_fields=["auto_renew"])
        audit.record(
            actor=actor, act="rentals.auto_renew", thing=rental, reason=reason,
            before={"auto_renew": before}, after={"auto_renew": on},
        )  # fmt: skip


def _locked(actor: Actor, rental_id: int) -> Rental:
    require(actor, "rentals.manage")
    return locks.lock_one(Rental.objects.all(), rental_id)


def quantity_now(component: Component) -> int:
    """Units after the changes so far."""
    changed = component.changes.exclude(quantity=None).order_by("-at", "-pk").first()
    return component.quantity if changed is None or changed.quantity is None else changed.quantity


def _change(
    actor: Actor,
    rental_id: int,
    kind: str,
    at: datetime,
    reason: str,
    now: datetime,
    **values: Any,
) -> int:
    """Record a change of a rental in order of time; metered hours already charged stay."""
    with transaction.atomic():
        rental = _locked(actor, rental_id)
        before = rental.state
        rental.state = LIFECYCLE.next(rental.state, kind)
        component = rental.components.get(code="cards")
        ends = kind in ("extend", "renew", "end_early")
        if not ends:
            _require_order(rental, component, at)
        change = RentalChange.objects.create(
            rental=rental,
            component=None if ends else component,
            kind=kind,
            at=at,
            known_at=_after_charged(rental, now),
            reason=reason,
            made_by=actor.display,
            **values,
        )
        rental.next_charge_at = min(
            moment for moment in (rental.next_charge_at, change.known_at, None) if moment
        )
        rental.save(update_fields=["state", "next_charge_at"])
        audit.record(
            actor=actor, act=f"rentals.{kind}", thing=rental, reason=reason,
            before={"state": before},
            after={"state": rental.state, "at": at.isoformat()}
            | {name: str(value) for name, value in values.items()},
        )  # fmt: skip
        return change.pk


def _after_charged(rental: Rental, now: datetime) -> datetime:
    """When the change counts as known: later than all that is charged already."""
    if rental.charged_until is None or now > rental.charged_until:
        return now
    return rental.charged_until + timedelta(microseconds=1)


def _require_order(rental: Rental, component: Component, at: datetime) -> None:
    last = component.changes.order_by("-at").first()
    metered = component.plan["kind"] == "hourly"
    charged = rental.charged_until if metered else None
    floor = max(
        [moment for moment in (rental.starts_at, charged, last.at if last else None) if moment]
    )
    if at < floor or (rental.ends_at is not None and at >= rental.ends_at):
        raise Invalid(
            Reason(
                "change_at",
                N_("A change lies between %(from)s (charged or changed already) and the end."),
                {"from": floor.isoformat()},
            ),
            "at",
        )
