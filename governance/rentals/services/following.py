"""An approved change of a running request, made on its rental."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from governance.budgets import services as budgets
from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import SYSTEM
from governance.kernel.reasons import N_, Reason
from governance.rentals.models import Rental
from governance.rentals.services.changing import (
    change_quantity,
    end_rental,
    extend_rental,
    quantity_now,
)
from governance.requests import queries as requests
from governance.requests import services as request_services

log = structlog.get_logger("governance.rentals")
MADE_HERE = ("extend", "more", "fewer", "end")


def follow_request(*, request_id: int, now: datetime) -> bool:
    """Make the change that was approved; whether it was made now.

    Once: the change request leaves the approved state in the same transaction, under its lock.
    What the rental does not allow (another offer was chosen, it has stopped or several rentals
    serve the request) is left approved, in the list of those who buy.

    More or fewer cards were approved for the whole rest, so their hold takes the place of the old
    one; an extension's hold stands beside it until the rental is over.
    """
    request = requests.by_id(request_id)
    if request.state != "approved" or request.change not in MADE_HERE:
        return False
    try:
        with transaction.atomic():
            _follow(request, now)
    except (Invalid, Refused) as error:
        log.warning("change_left_to_buyers", request=request_id, reason=str(error.reason))
        return False
    return True


def _follow(request: Any, now: datetime) -> None:
    parent = requests.changed_by(request)
    rental = _only_rental(parent.pk)
    reason = f"request #{request.pk}"
    if request.change in ("more", "fewer") and rental.hold_key != request.hold_key:
        budgets.release_hold(actor=SYSTEM, key=rental.hold_key, now=now)
    request_services.mark_active(actor=SYSTEM, request_id=request.pk, now=now)
    if request.change == "end":
        at = max(now, request.needed_by)
        end_rental(actor=SYSTEM, rental_id=rental.pk, at=at, reason=reason, now=now)
        request_services.mark_completed(actor=SYSTEM, request_id=request.pk, now=now)
        return
    units = int(request.package["units"])
    has = quantity_now(rental.components.get(code="cards"))
    _require_same(rental, request, units, has)
    if request.change == "extend":
        assert rental.ends_at is not None
        ends_at = rental.ends_at + (request.ends_at - request.starts_at)
        request_services.mark_extended(actor=SYSTEM, request_id=parent.pk, ends_at=ends_at, now=now)
        extend_rental(actor=SYSTEM, rental_id=rental.pk, ends_at=ends_at, reason=reason, now=now)
        return
    change_quantity(
        actor=SYSTEM, rental_id=rental.pk, quantity=units, at=now, reason=reason, now=now
    )
    Rental.objects.filter(pk=rental.pk).update(hold_key=request.hold_key)


def _only_rental(request_id: int) -> Rental:
    found = list(Rental.objects.filter(request_id=request_id, closed_at=None)[:2])
    if len(found) != 1:
        raise Refused(Reason("one_rental", N_("The request does not have exactly one rental.")))
    return found[0]


def _require_same(rental: Rental, request: Any, units: int, has: int) -> None:
    fits = {"extend": units == has, "more": units > has, "fewer": units < has}
    open_ended = rental.ends_at is None and request.change == "extend"
    if request.package["offer_id"] != rental.offer or not fits[request.change] or open_ended:
        raise Refused(
            Reason("other_package", N_("The approved package is not a change of this rental."))
        )
