"""A component's terms, put together from its frozen plan and the changes since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from governance.rentals.domain.codec import plan_from_json, rule_from_json
from governance.rentals.domain.terms import Change, EndChange, Terms
from governance.rentals.models import Component, Rental, RentalChange

ENDS = ("extend", "renew", "end_early")


def terms_of(rental: Rental, component: Component, changes: Sequence[RentalChange]) -> Terms:
    """The component's terms. Ends of the rental end all components; only the cards' end is
    settled by the vendor's early-termination rule, the others' in a straight line."""
    main = component.code == "cards"
    prices = tuple(
        Change(change.at, change.price, change.quantity, change.known_at)
        for change in sorted(changes, key=lambda change: (change.at, change.pk or 0))
        if change.component_id == component.pk
        and (change.price is not None or change.quantity is not None)
    )
    ends = tuple(
        EndChange(
            known_at=change.known_at,
            end=change.end if main else _earlier(change.end, component.ends_at),
            rule=rule_from_json(change.rule) if main else None,
        )
        for change in changes
        if change.kind in ENDS and change.end is not None
    )
    return Terms(
        currency=rental.currency,
        zone=ZoneInfo(rental.timezone),
        plan=plan_from_json(component.plan),
        start=component.starts_at,
        end=component.ends_at,
        quantity=component.quantity,
        changes=prices,
        ends=ends,
    )


def rental_terms(rental: Rental) -> list[tuple[Component, Terms]]:
    """All components of a rental with their terms, the cards first."""
    changes = list(rental.changes.order_by("known_at", "pk"))
    return [
        (component, terms_of(rental, component, changes))
        for component in rental.components.order_by("pk")
    ]


def end_of(rental: Rental, changes: Sequence[RentalChange]) -> datetime | None:
    """The rental's end as now agreed."""
    ends = [change.end for change in changes if change.kind in ENDS]
    return ends[-1] if ends else rental.ends_at


def _earlier(end: datetime, other: datetime | None) -> datetime:
    return end if other is None else min(end, other)
