"""A stand-in for the time away."""

from __future__ import annotations

from datetime import date, datetime

from django.db import transaction

from governance.accounts import queries as accounts
from governance.accounts.services import acting
from governance.kernel.errors import Invalid, Missing
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.requests import queries
from governance.requests.models import Delegation
from governance.requests.policies import person_id


def delegate(
    *, actor: Actor, taker_id: int, starts_on: date, ends_on: date, now: datetime
) -> Delegation:
    """Hand the signature to another person from one day to another, both included."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "delegations.manage")
        if taker_id == person_id(person):
            raise Invalid(Reason("self", N_("A stand-in is somebody else.")), "taker")
        if not accounts.people().filter(pk=taker_id).exists():
            raise Invalid(Reason("taker", N_("There is no open account of that person.")), "taker")
        if ends_on < starts_on or ends_on < queries.local_day(now):
            raise Invalid(
                Reason("ends_on", N_("The last day must not lie before the first, or today.")),
                "ends_on",
            )
        row = Delegation.objects.create(
            giver_id=person_id(person),
            taker_id=taker_id,
            starts_on=starts_on,
            ends_on=ends_on,
            created_at=now,
        )
        audit.record(
            actor=person,
            act="delegations.give",
            thing=row,
            after={"taker": taker_id, "starts_on": starts_on, "ends_on": ends_on},
        )
        return row


def end_delegation(*, actor: Actor, delegation_id: int, now: datetime) -> Delegation:
    """Take the signature back at once."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "delegations.manage")
        row = (
            Delegation.objects.select_for_update(no_key=True)
            .filter(pk=delegation_id, giver_id=person_id(person), revoked_at=None)
            .first()
        )
        if row is None:
            raise Missing()
        row.revoked_at = now
        row.save(update_fields=["revoked_at"])
        audit.record(actor=person, act="delegations.end", thing=row)
        return row
