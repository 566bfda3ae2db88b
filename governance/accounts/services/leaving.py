"""Ending roles and memberships, closing accounts."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.contrib.sessions.models import Session
from django.db import transaction

from governance.accounts import leaving, queries
from governance.accounts.models import Grant, Membership, ServiceToken, User
from governance.accounts.services.acting import acting
from governance.kernel.errors import Invalid, Missing, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, outbox
from governance.plumbing.locks import lock_one


def end_role(*, actor: Actor, grant_id: int, now: datetime) -> None:
    """Take a role across away at once; acts that rest on it finish first or see it gone."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "people.manage")
        grant = Grant.objects.filter(pk=grant_id).first()
        if grant is None:
            raise Missing()
        user = lock_one(User.objects.all(), grant.user_id)
        _last_admin(user, grant)
        _end(grant, now)
        audit.record(actor=person, act="people.end_role", thing=user, before={"role": grant.role})


def leave_team(*, actor: Actor, membership_id: int, now: datetime) -> None:
    """End a membership at once."""
    with transaction.atomic():
        person = acting(actor)
        row = Membership.objects.select_related("team").filter(pk=membership_id).first()
        if row is None:
            raise Missing()
        require(person, "members.manage", row.team)
        user = lock_one(User.objects.all(), row.user_id)
        _end(row, now)
        audit.record(
            actor=person,
            act="teams.leave",
            thing=user,
            before={"team": row.team.slug, "role": row.role},
        )


def close_account(
    *, actor: Actor, user_id: int, heir_id: int | None = None, now: datetime
) -> dict[str, int]:
    """Close a person's account: sessions and tokens end, roles and memberships end, and all that
    is in their hands goes to the heir in the same act. Returns what moved, by kind.

    Refused when something is in their hands and no heir is named, or for the last administrator.
    """
    with transaction.atomic():
        person = acting(actor)
        require(person, "people.manage")
        user = lock_one(User.objects.all(), user_id)
        if not user.is_active:
            raise Refused(Reason("closed", N_("This account is closed already.")))
        if user.pk == getattr(actor, "pk", None):
            raise Refused(Reason("own_account", N_("Nobody closes their own account.")))
        for grant in user.grants.filter(role="admin"):
            _last_admin(user, grant)
        moved = _hand_over(person, user, heir_id, now)
        for grant in user.grants.all():
            _end(grant, now)
        for membership in user.memberships.all():
            _end(membership, now)
        ServiceToken.objects.filter(owner=user, revoked_at=None).update(revoked_at=now)
        user.is_active = False
        user.save(update_fields=["is_active"])
        ended = end_sessions(user.pk)
        audit.record(
            actor=person,
            act="people.close",
            thing=user,
            before={"is_active": True},
            after={"is_active": False, "heir": heir_id, "moved": moved, "sessions": ended},
        )
        outbox.emit(
            kind="person.left",
            payload={"person": user.pk, "heir": heir_id, "moved": moved},
            key=f"person:{user.pk}:left:{now.isoformat()}",
        )
        return moved


def reopen_account(*, actor: Actor, user_id: int) -> None:
    """Open a closed account again, without roles."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "people.manage")
        user = lock_one(User.objects.all(), user_id)
        if user.is_active:
            raise Refused(Reason("open", N_("This account is open.")))
        user.is_active = True
        user.save(update_fields=["is_active"])
        audit.record(actor=person, act="people.reopen", thing=user, after={"is_active": True})


def end_sessions(user_id: int) -> int:
    """Delete the person's sessions; returns how many."""
    mine = [
        session.pk
        for session in Session.objects.iterator(chunk_size=500)
        if session.get_decoded().get("_auth_user_id") == str(user_id)
    ]
    return Session.objects.filter(pk__in=mine).delete()[0]


def _hand_over(actor: Actor, user: User, heir_id: int | None, now: datetime) -> dict[str, int]:
    if heir_id is not None:
        heir = lock_one(User.objects.all(), heir_id)
        if not heir.is_active or heir.pk == user.pk:
            raise Invalid(Reason("heir", N_("The heir needs an open account.")), "heir")
        return leaving.hand_over(actor, user.pk, heir.pk, now)
    counts = leaving.hand_over(actor, user.pk, None, now)
    if any(counts.values()):
        open_things = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)
        raise Refused(
            Reason(
                "heir_needed",
                N_("Name who takes over what is open: %(things)s."),
                {"things": open_things},
            )
        )
    return counts


def _end(row: Grant | Membership, now: datetime) -> None:
    """The last day is yesterday; what began today or later never holds."""
    today = now.astimezone(ZoneInfo(queries.organisation().timezone)).date()
    yesterday = today - timedelta(days=1)
    if row.ends_on is not None and row.ends_on <= yesterday:
        return
    if row.starts_on > yesterday:
        row.delete()
        return
    row.ends_on = yesterday
    row.save(update_fields=["ends_on"])


def _last_admin(user: User, grant: Grant) -> None:
    if grant.role != "admin":
        return
    others = User.objects.filter(is_active=True, grants__role="admin").exclude(pk=user.pk)
    if not others.filter(grants__ends_on=None).exists():
        raise Refused(Reason("last_admin", N_("Somebody must remain administrator.")))
