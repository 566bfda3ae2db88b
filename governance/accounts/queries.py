"""Reads of people, teams and projects; each starts from what the viewer may see."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Prefetch, Q, QuerySet

from governance.accounts.domain import roles
from governance.accounts.models import (
    CostCentre,
    Grant,
    Membership,
    Organisation,
    Project,
    ServiceToken,
    Team,
    User,
    active_on,
)
from governance.kernel.errors import Missing
from governance.kernel.periods import local_midnight
from governance.kernel.policy import Actor, require
from governance.plumbing import audit
from governance.plumbing.models import AuditEvent, AuditSeal


def organisation() -> Organisation:
    """The organisation of this installation; made with defaults on first use."""
    found, _ = Organisation.objects.get_or_create(only=True, defaults={"name": "Compute Ledger"})
    return found


def anybody() -> bool:
    """Whether there is an account at all."""
    return User.objects.exists()


def projects_visible_to(viewer: Actor) -> QuerySet[Project]:
    """Projects that the viewer may see."""
    return Project.objects.visible_to(viewer)


def owner_named(kind: str, name: str) -> int | None:
    """The id of a team or project by its short name, or of a cost centre by its code."""
    rows: QuerySet[Any] = {
        "team": Team.objects.filter(slug=name),
        "project": Project.objects.filter(slug=name),
        "cost_centre": CostCentre.objects.filter(code=name),
    }[kind]
    found: int | None = rows.values_list("pk", flat=True).first()
    return found


def team(team_id: int) -> Team:
    """A team by its id, for acts that were granted before; Missing (404) if there is none."""
    found = Team.objects.filter(pk=team_id).first()
    if found is None:
        raise Missing()
    return found


def teams_visible_to(viewer: Actor) -> QuerySet[Team]:
    """All teams for those who see all, else the viewer's own."""
    if "see.all" in viewer.abilities():
        return Team.objects.all()
    return Team.objects.filter(pk__in=list(getattr(viewer, "team_abilities", {})))


def people() -> QuerySet[User]:
    """Everybody with an open account."""
    return User.objects.filter(is_active=True).order_by("name")


def people_with(role: str, day: date) -> QuerySet[User]:
    """Open accounts that hold the role across on the day."""
    held = Grant.objects.filter(active_on(day), role=role)
    return people().filter(pk__in=held.values("user_id"))


def holders(ability: str, day: date) -> QuerySet[User]:
    """Open accounts whose roles across grant the ability on the day."""
    names = [name for name, granted in roles.GLOBAL_ROLES.items() if ability in granted]
    held = Grant.objects.filter(active_on(day), role__in=names)
    return people().filter(pk__in=held.values("user_id"))


def project_for(viewer: Actor, slug: str) -> Project:
    """A project that the viewer may see, or Missing (404)."""
    found = projects_visible_to(viewer).select_related("team").filter(slug=slug).first()
    if found is None:
        raise Missing()
    return found


def project(project_id: int) -> Project:
    """A project by its id, for acts that were granted before; Missing (404) if there is none."""
    found = Project.objects.select_related("team", "cost_centre").filter(pk=project_id).first()
    if found is None:
        raise Missing()
    return found


def zone() -> ZoneInfo:
    """The organisation's time zone."""
    return ZoneInfo(organisation().timezone)


def local_day(now: datetime) -> date:
    return now.astimezone(zone()).date()


def person(user_id: int) -> User:
    """An account, open or closed; Missing (404) where there is none."""
    found = User.objects.filter(pk=user_id).first()
    if found is None:
        raise Missing()
    return found


def everybody(viewer: Actor, now: datetime) -> QuerySet[User]:
    """All accounts with what holds today, for those who manage people."""
    require(viewer, "people.manage")
    today = local_day(now)
    return User.objects.order_by("name").prefetch_related(
        Prefetch("grants", Grant.objects.filter(active_on(today)), "current_grants"),
        Prefetch(
            "memberships",
            Membership.objects.filter(active_on(today)).select_related("team"),
            "current_memberships",
        ),
    )


def grants_of(user: User) -> QuerySet[Grant]:
    return user.grants.order_by("-starts_on", "role")


def memberships_of(user: User) -> QuerySet[Membership]:
    return user.memberships.select_related("team").order_by("-starts_on")


def tokens_of(user: User) -> QuerySet[ServiceToken]:
    return user.tokens.order_by("-created_at")


def team_for(viewer: Actor, slug: str) -> Team:
    """A team that the viewer may see, or Missing (404)."""
    found = teams_visible_to(viewer).filter(slug=slug).first()
    if found is None:
        raise Missing()
    return found


def teams_with_counts(viewer: Actor, now: datetime) -> QuerySet[Team]:
    """Teams with `people` (members today) and `open_projects`."""
    member = Q(memberships__starts_on__lte=local_day(now)) & (
        Q(memberships__ends_on=None) | Q(memberships__ends_on__gte=local_day(now))
    )
    return teams_visible_to(viewer).annotate(
        people=Count("memberships__user", filter=member, distinct=True),
        open_projects=Count("projects", filter=Q(projects__closed_at=None), distinct=True),
    )


def members_of(found: Team, day: date) -> QuerySet[Membership]:
    """Who is in the team on the day."""
    rows = found.memberships.filter(active_on(day), user__is_active=True)
    return rows.select_related("user").order_by("role", "user__name")


def cost_centres() -> QuerySet[CostCentre]:
    return CostCentre.objects.all()


def trail(filters: Mapping[str, Any]) -> QuerySet[AuditEvent]:
    """Audit events, newest first, by who, act (a prefix), thing, its number and days."""
    found = audit.trail()
    if filters.get("actor"):
        who = filters["actor"]
        found = found.filter(Q(actor_name__icontains=who) | Q(actor_key=who))
    if filters.get("act"):
        found = found.filter(act__startswith=filters["act"])
    if filters.get("thing"):
        found = found.filter(thing_type__icontains=filters["thing"])
    if filters.get("number"):
        found = found.filter(thing_id=filters["number"])
    if filters.get("first"):
        found = found.filter(at__gte=local_midnight(filters["first"], zone()))
    if filters.get("last"):
        found = found.filter(at__lt=local_midnight(filters["last"] + timedelta(days=1), zone()))
    return found


def sealed() -> AuditSeal | None:
    """The newest link of the chain."""
    return AuditSeal.objects.select_related("event").order_by("-pk").first()
