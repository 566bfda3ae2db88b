"""Adding people, roles, teams, cost centres and projects."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email, validate_slug
from django.db import transaction

from governance.accounts import queries
from governance.accounts.authentication import person_of
from governance.accounts.domain import roles
from governance.accounts.models import (
    CostCentre,
    Grant,
    Membership,
    Organisation,
    Project,
    Team,
    User,
)
from governance.accounts.services.acting import acting
from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.plumbing.locks import lock_one


def _invalid(field: str, text: str) -> Invalid:
    return Invalid(Reason(field, text), field)


def name_organisation(*, actor: Actor, name: str, timezone: str, currency: str) -> None:
    """Set name, time zone and currency of the installation's organisation."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "organisation.manage")
        _zone(timezone)
        queries.organisation()
        row = lock_one(Organisation.objects.all(), Organisation.objects.values_list("pk").get()[0])
        before = {"name": row.name, "timezone": row.timezone, "currency": row.currency}
        row.name, row.timezone, row.currency = _name(name), timezone, currency
        row.save(update_fields=["name", "timezone", "currency"])
        audit.record(
            actor=person,
            act="organisation.change",
            thing=row,
            before=before,
            after={"name": row.name, "timezone": timezone, "currency": currency},
        )


def add_person(*, actor: Actor, email: str, name: str, password: str | None = None) -> User:
    """Open an account. Without a password the person signs in by single sign-on, or asks for a
    reset. Refused where the address is taken."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "people.manage")
        address = email.strip().lower()
        try:
            validate_email(address)
        except ValidationError as error:
            raise _invalid("email", N_("This is no e-mail address.")) from error
        if User.objects.filter(email=address).exists():
            raise Refused(Reason("email_taken", N_("There is an account with this address.")))
        user = User(email=address, name=_name(name))
        if password is None:
            user.set_unusable_password()
        else:
            _password(password, user)
            user.set_password(password)
        user.save()
        audit.record(
            actor=person, act="people.add", thing=user, after={"email": address, "name": user.name}
        )
        return user


def change_profile(*, actor: Actor, name: str, language: str) -> None:
    """A person's own name and language."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "profile.own")
        if language not in dict(settings.LANGUAGES):
            raise _invalid("language", N_("There is no such language."))
        user = User.objects.get(pk=person_of(person).pk)
        before = {"name": user.name, "language": user.language}
        user.name, user.language = _name(name), language
        user.save(update_fields=["name", "language"])
        audit.record(
            actor=person,
            act="profile.change",
            thing=user,
            before=before,
            after={"name": user.name, "language": language},
        )


def grant_role(*, actor: Actor, user_id: int, role: str, starts_on: date) -> Grant:
    """Give a role across all teams from a day on."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "people.manage")
        if role not in roles.GLOBAL_ROLES:
            raise _invalid("role", N_("There is no such role."))
        user = lock_one(User.objects.all(), user_id)
        row = Grant.objects.create(user=user, role=role, starts_on=starts_on)
        audit.record(
            actor=person,
            act="people.grant",
            thing=user,
            after={"role": role, "starts_on": starts_on.isoformat()},
        )
        return row


def add_team(*, actor: Actor, slug: str, name: str, timezone: str = "Asia/Shanghai") -> Team:
    """Make a team; its days are those of its time zone."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "organisation.manage")
        _zone(timezone)
        _free_slug(Team.objects.filter(slug=slug).exists(), slug)
        row = Team.objects.create(slug=slug, name=_name(name), timezone=timezone)
        audit.record(actor=person, act="teams.add", thing=row, after={"slug": slug, "name": name})
        return row


def add_cost_centre(*, actor: Actor, code: str, name: str) -> CostCentre:
    """Make a cost centre."""
    with transaction.atomic():
        person = acting(actor)
        require(person, "organisation.manage")
        if not code.strip() or CostCentre.objects.filter(code=code.strip()).exists():
            raise _invalid("code", N_("This code is empty or taken."))
        row = CostCentre.objects.create(code=code.strip(), name=_name(name))
        audit.record(actor=person, act="cost_centres.add", thing=row, after={"code": row.code})
        return row


def add_project(
    *, actor: Actor, team_id: int, slug: str, name: str, cost_centre_id: int | None = None
) -> Project:
    """Make a project of a team, booked on a cost centre."""
    with transaction.atomic():
        person = acting(actor)
        team = queries.team(team_id)
        require(person, "projects.manage", team)
        _free_slug(Project.objects.filter(slug=slug).exists(), slug)
        row = Project.objects.create(
            team=team, slug=slug, name=_name(name), cost_centre_id=cost_centre_id
        )
        audit.record(
            actor=person, act="projects.add", thing=row, after={"slug": slug, "team": team.slug}
        )
        return row


def close_project(*, actor: Actor, project_id: int, now: datetime) -> None:
    """Close a project: nothing new is asked for it; what runs goes on."""
    with transaction.atomic():
        person = acting(actor)
        row = lock_one(Project.objects.select_related("team"), project_id)
        require(person, "projects.manage", row)
        if row.closed_at is not None:
            raise Refused(Reason("closed", N_("This project is closed already.")))
        row.closed_at = now
        row.save(update_fields=["closed_at"])
        audit.record(actor=person, act="projects.close", thing=row)


def join_team(
    *, actor: Actor, user_id: int, team_id: int, role: str, starts_on: date
) -> Membership:
    """Make a person a member or the lead of a team from a day on."""
    with transaction.atomic():
        person = acting(actor)
        team = queries.team(team_id)
        require(person, "members.manage", team)
        if role not in roles.TEAM_ROLES:
            raise _invalid("role", N_("There is no such role."))
        user = lock_one(User.objects.all(), user_id)
        row = Membership.objects.create(user=user, team=team, role=role, starts_on=starts_on)
        audit.record(
            actor=person,
            act="teams.join",
            thing=user,
            after={"team": team.slug, "role": role, "starts_on": starts_on.isoformat()},
        )
        return row


def _name(text: str) -> str:
    name = text.strip()
    if not 0 < len(name) <= 120:
        raise _invalid("name", N_("A name of at most 120 characters is needed."))
    return name


def _zone(name: str) -> ZoneInfo:
    if name not in available_timezones():
        raise _invalid("timezone", N_("This is no time zone, such as Asia/Shanghai."))
    return ZoneInfo(name)


def _free_slug(taken: bool, slug: str) -> None:
    try:
        validate_slug(slug)
    except ValidationError as error:
        raise _invalid("slug", N_("Letters, digits, hyphens and underscores only.")) from error
    if taken:
        raise _invalid("slug", N_("This short name is taken."))


def _password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(Reason("password", " ".join(error.messages)), "password") from error
