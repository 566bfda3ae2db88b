"""Builds objects for tests, through the rooms' services where there are any."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import date, timedelta

from django.conf import settings
from django.utils import timezone

from governance.accounts.domain import tokens
from governance.accounts.domain.roles import GLOBAL_ROLES, every_ability
from governance.accounts.models import (
    CostCentre,
    Grant,
    Membership,
    Organisation,
    Project,
    ServiceToken,
    Team,
    User,
)

PASSWORD = "correct horse battery staple"
_count = itertools.count(1)
_START = date(2020, 1, 1)


@dataclass(frozen=True)
class House:
    """The people and places most tests need."""

    organisation: Organisation
    team: Team
    other_team: Team
    project: Project
    other_project: Project
    member: User
    lead: User
    approver: User
    finance: User
    operator: User
    auditor: User
    admin: User
    outsider: User


def user(name: str, *, team: Team | None = None, role: str = "member", across: str = "") -> User:
    """A person, optionally in a team and with a role across."""
    person = User.objects.create(email=f"{name.lower()}{next(_count)}@example.test", name=name)
    if team:
        Membership.objects.create(user=person, team=team, role=role, starts_on=_START)
    if across:
        Grant.objects.create(user=person, role=across, starts_on=_START)
    return person


def team(name: str) -> Team:
    """A team in Asia/Shanghai."""
    return Team.objects.create(name=name, slug=f"{name.lower()}-{next(_count)}")


def project(of: Team, name: str) -> Project:
    """A project of the team with a cost centre of its own."""
    number = next(_count)
    centre = CostCentre.objects.create(code=f"CC{number}", name=name)
    return Project.objects.create(
        team=of, name=name, slug=f"{name.lower()}-{number}", cost_centre=centre
    )


def house() -> House:
    """The usual organisation; see the fixture of this name."""
    organisation, _ = Organisation.objects.get_or_create(only=True, defaults={"name": "Test"})
    own, other = team("Vision"), team("Speech")
    return House(
        organisation=organisation,
        team=own,
        other_team=other,
        project=project(own, "Detector"),
        other_project=project(other, "Recogniser"),
        member=user("Alice", team=own),
        lead=user("Lea", team=own, role="lead"),
        approver=user("Adam", across="approver"),
        finance=user("Fay", across="finance"),
        operator=user("Olga", across="operator"),
        auditor=user("Axel", across="auditor"),
        admin=user("Ada", across="admin"),
        outsider=user("Oscar", team=other),
    )


def service_token(owner: User, *scopes: str) -> str:
    """A service token of the person with the scopes, or with every ability there is."""
    secret = tokens.new_secret()
    now = timezone.now()
    ServiceToken.objects.create(
        owner=owner,
        name=f"token {next(_count)}",
        digest=tokens.digest(secret, settings.SECRET_KEY),
        scopes=list(scopes) or sorted(every_ability()),
        created_at=now,
        expires_at=now + timedelta(days=1),
    )
    return secret


def user_with_every_role() -> User:
    """Somebody who may everything."""
    person = user("Omni")
    for role in GLOBAL_ROLES:
        Grant.objects.create(user=person, role=role, starts_on=_START)
    return person
