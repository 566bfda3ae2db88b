"""Further priced parts of a running rental: a disk from now on, a one-off fee, metered traffic."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction

from governance.kernel.errors import Invalid, Refused
from governance.kernel.money import currency_places, round_exact
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks
from governance.rentals.domain.codec import plan_from_json, plan_to_json
from governance.rentals.domain.lifecycle import RUNNING
from governance.rentals.domain.metered import percentile_charge, traffic_charge
from governance.rentals.domain.spec import daily_lines
from governance.rentals.domain.terms import Plan
from governance.rentals.models import Component, Rental


def add_component(
    *,
    actor: Actor,
    rental_id: int,
    kind: str,
    plan: Plan,
    quantity: int = 1,
    starts_at: datetime,
    ends_at: datetime | None = None,
    reason: str = "",
) -> int:
    """A part that is charged from `starts_at` (later than all that is charged) with the rental."""
    require(actor, "rentals.manage")
    if kind not in Component.KINDS or kind == "cards":
        raise Invalid(Reason("component_kind", N_("This is no further part of a rental.")), "kind")
    if quantity < 1 or plan.price < 0:
        raise Invalid(Reason("rental_price", N_("A price is 0 or more.")), "price")
    with transaction.atomic():
        rental = locks.lock_one(Rental.objects.all(), rental_id)
        if rental.state not in RUNNING:
            raise Refused(Reason("not_running", N_("Only a running rental gets further parts.")))
        floor = max(moment for moment in (rental.charged_until, rental.starts_at) if moment)
        end = ends_at or rental.ends_at
        if starts_at <= floor or (end is not None and end <= starts_at):
            raise Invalid(
                Reason(
                    "component_start",
                    N_("The part begins after %(from)s (all before is charged), before its end."),
                    {"from": floor.isoformat()},
                ),
                "starts_at",
            )
        same = rental.components.filter(kind=kind).count()
        component = Component.objects.create(
            rental=rental,
            code=f"{kind}-{same + 1}" if same else kind,
            kind=kind,
            plan=plan_to_json(daily_lines(plan)),
            quantity=quantity,
            starts_at=starts_at,
            ends_at=end,
        )
        if rental.next_charge_at is None or starts_at < rental.next_charge_at:
            rental.next_charge_at = starts_at
            rental.save(update_fields=["next_charge_at"])
        audit.record(
            actor=actor, act="rentals.add_component", thing=rental, reason=reason,
            after={"part": component.code, "price": str(plan.price), "quantity": quantity},
        )  # fmt: skip
        return component.pk


def charge_once(
    *, actor: Actor, rental_id: int, kind: str, amount: Decimal, reason: str, now: datetime
) -> int:
    """One amount, once, at the rental's own tax: a fee, or a measured part of it."""
    if not amount.is_finite() or amount <= 0:
        raise Invalid(Reason("amount", N_("The amount must be above zero.")), "amount")
    require(actor, "rentals.manage")
    with transaction.atomic():
        rental = locks.lock_one(Rental.objects.all(), rental_id)
        start = max(now, (rental.charged_until or now) + timedelta(microseconds=1))
        cards = plan_from_json(rental.components.get(code="cards").plan)
        plan = Plan(
            "daily", amount, proration="none", tax=cards.tax,
            places=currency_places(rental.currency), rounding=cards.rounding,
        )  # fmt: skip
        return add_component(
            actor=actor,
            rental_id=rental_id,
            kind=kind,
            plan=plan,
            starts_at=start,
            ends_at=start + timedelta(days=1),
            reason=reason,
        )


def charge_traffic(
    *,
    actor: Actor,
    rental_id: int,
    moved_bytes: int,
    included_gb: Decimal,
    price_per_gb: Decimal,
    now: datetime,
) -> int | None:
    """Traffic over what is included, in decimal GB; None where nothing is over."""
    exact = traffic_charge(moved_bytes, included_gb, price_per_gb)
    return _measured(actor, rental_id, "traffic", round_exact(exact, 8), now)


def charge_percentile(
    *,
    actor: Actor,
    rental_id: int,
    samples_mbit: Sequence[Decimal],
    price_per_mbit: Decimal,
    now: datetime,
) -> int | None:
    """Public bandwidth by its 95th percentile over the samples of a month."""
    if not samples_mbit:
        raise Invalid(Reason("samples", N_("There are no samples.")), "samples_mbit")
    exact = percentile_charge(samples_mbit, price_per_mbit)
    return _measured(actor, rental_id, "bandwidth", round_exact(exact, 8), now)


def _measured(
    actor: Actor, rental_id: int, kind: str, amount: Decimal, now: datetime
) -> int | None:
    if not amount:
        require(actor, "rentals.manage")
        return None
    return charge_once(
        actor=actor, rental_id=rental_id, kind=kind, amount=amount, reason="measured", now=now
    )
