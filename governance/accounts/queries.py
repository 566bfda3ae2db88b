"""Reads of people, teams and projects; each starts from what the viewer may see."""

from __future__ import annotations

from datetime import date

from django.db.models import QuerySet

from governance.accounts.domain import roles
from governance.accounts.models import Grant, Organisation, Project, Team, User, active_on
from governance.kernel.errors import Missing
from governance.kernel.policy import Actor


def organisation() -> Organisation:
    """The organisation of this installation; made with defaults on first use."""
    found, _ = Organisation.objects.get_or_create(only=True, defaults={"name": "Compute Ledger"})
    return found


def projects_visible_to(viewer: Actor) -> QuerySet[Project]:
    """Projects that the viewer may see."""
    return Project.objects.visible_to(viewer)


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
