"""Service tokens: shown once, kept as a digest, narrowed by scopes, rotated with an overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from governance.accounts.authentication import person_of
from governance.accounts.domain import roles, tokens
from governance.accounts.models import ServiceToken, User
from governance.accounts.services.acting import acting
from governance.kernel.errors import Invalid, Missing
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit

LONGEST = timedelta(days=365)
OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token and its secret, which can be shown only now."""

    row: ServiceToken
    secret: str


def create_token(
    *, actor: Actor, name: str, scopes: Sequence[str], expires_at: datetime, now: datetime
) -> NewToken:
    """A token of the actor's own; its scopes are abilities, at most those the actor has."""
    with transaction.atomic():
        owner = _owner(actor)
        require(owner, "tokens.own")
        known = roles.every_ability()
        for scope in scopes:
            if scope not in known:
                raise Invalid(
                    Reason("scope", N_("There is no ability “%(scope)s”."), {"scope": scope}),
                    "scopes",
                )
        if not scopes:
            raise Invalid(Reason("scopes", N_("Choose at least one ability.")), "scopes")
        if not name.strip() or len(name) > 80:
            raise Invalid(Reason("name", N_("A name of at most 80 characters is needed.")), "name")
        if not now < expires_at <= now + LONGEST:
            raise Invalid(
                Reason("expires_at", N_("A token lives at most a year from now.")), "expires_at"
            )
        return _make(owner, name.strip(), sorted(set(scopes)), expires_at, now)


def rotate_token(*, actor: Actor, token_id: int, now: datetime) -> NewToken:
    """A new secret for the same use; the old one works another 24 hours."""
    with transaction.atomic():
        owner = _owner(actor)
        old = _own(owner, token_id)
        life = old.expires_at - old.created_at
        made = _make(owner, old.name, list(old.scopes), now + min(life, LONGEST), now)
        old.expires_at = min(old.expires_at, now + OVERLAP)
        old.save(update_fields=["expires_at"])
        return made


def revoke_token(*, actor: Actor, token_id: int, now: datetime) -> None:
    """End a token at once: its owner, or an administrator."""
    with transaction.atomic():
        person = acting(actor)
        row = ServiceToken.objects.select_for_update(no_key=True).filter(pk=token_id).first()
        mine = row is not None and row.owner_id == person_of(person).pk
        if row is None or row.revoked_at is not None:
            raise Missing()
        if not mine and "tokens.manage" not in person.abilities():
            raise Missing()
        row.revoked_at = now
        row.save(update_fields=["revoked_at"])
        audit.record(actor=person, act="tokens.revoke", thing=row, before={"name": row.name})


def _owner(actor: Actor) -> User:
    """A token never makes tokens: only the person themselves."""
    person = acting(actor)
    if not isinstance(person, User):
        raise Invalid(Reason("token", N_("A token cannot make tokens; sign in yourself.")), "")
    return person


def _own(owner: User, token_id: int) -> ServiceToken:
    row = (
        ServiceToken.objects.select_for_update(no_key=True)
        .filter(pk=token_id, owner=owner, revoked_at=None)
        .first()
    )
    if row is None:
        raise Missing()
    return row


def _make(
    owner: User, name: str, scopes: list[str], expires_at: datetime, now: datetime
) -> NewToken:
    secret = tokens.new_secret()
    row = ServiceToken.objects.create(
        owner=owner,
        name=name,
        digest=tokens.digest(secret, settings.SECRET_KEY),
        scopes=scopes,
        created_at=now,
        expires_at=expires_at,
    )
    audit.record(
        actor=owner,
        act="tokens.create",
        thing=row,
        after={"name": name, "scopes": scopes, "expires_at": expires_at},
    )
    return NewToken(row, secret)
