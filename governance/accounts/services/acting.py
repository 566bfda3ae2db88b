"""An act that rests on a right holds the person still until it is done."""

from __future__ import annotations

from governance.accounts.authentication import Principal
from governance.accounts.models import ServiceToken, User
from governance.kernel.errors import Denied
from governance.kernel.policy import SYSTEM, Actor
from governance.kernel.reasons import N_, Reason
from governance.plumbing.locks import lock_one


def acting(actor: Actor) -> Actor:
    """The actor, read afresh and locked, with the rights of this instant.

    Ending a role locks the same row, so a right cannot go away between its check and the act.
    Inside a transaction, before any other lock. Denied when the account or token was closed.
    """
    if actor is SYSTEM:
        return actor
    if isinstance(actor, Principal):
        person = _open(lock_one(User.objects.all(), actor.pk))
        token = ServiceToken.objects.filter(pk=actor.token.pk, revoked_at=None).first()
        if token is None:
            raise Denied(Reason("token_revoked", N_("This token is not valid (any more).")))
        token.owner = person
        return Principal(token)
    assert isinstance(actor, User)
    return _open(lock_one(User.objects.all(), actor.pk))


def _open(person: User) -> User:
    if not person.is_active:
        raise Denied(Reason("closed", N_("This account is closed.")))
    return person
