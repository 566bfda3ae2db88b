"""Who may change people, roles, teams, projects and the organisation."""

from __future__ import annotations

from governance.accounts.models import Project, Team
from governance.kernel.policy import ALLOWED, Actor, Decision, grants, rule


@rule("people.manage")
def manage_people(actor: Actor, thing: object) -> Decision:
    """Administrators add people and give roles across."""
    return grants(actor, "people.manage")


@rule("organisation.manage")
def manage_organisation(actor: Actor, thing: object) -> Decision:
    """Administrators name the organisation, make teams and cost centres."""
    return grants(actor, "organisation.manage")


@rule("members.manage")
def manage_members(actor: Actor, team: object) -> Decision:
    """Administrators, and a team's lead in the team, say who belongs to it."""
    return grants(actor, "members.manage", team.pk if isinstance(team, Team) else None)


@rule("projects.manage")
def manage_projects(actor: Actor, thing: object) -> Decision:
    """Administrators, and a team's lead in the team, make and close its projects."""
    team_id = thing.team_id if isinstance(thing, Project) else None
    if isinstance(thing, Team):
        team_id = thing.pk
    return grants(actor, "projects.manage", team_id)


@rule("tokens.own")
def own_tokens(actor: Actor, thing: object) -> Decision:
    """Everybody makes tokens for their own rights; a token narrows, it never adds."""
    return ALLOWED


@rule("tokens.manage")
def manage_tokens(actor: Actor, thing: object) -> Decision:
    """Administrators see and end everybody's tokens."""
    return grants(actor, "tokens.manage")


@rule("audit.see")
def see_audit(actor: Actor, thing: object) -> Decision:
    """Finance, auditors and administrators read the audit trail."""
    return grants(actor, "audit.see")


@rule("profile.own")
def own_profile(actor: Actor, thing: object) -> Decision:
    """Everybody keeps their own profile."""
    return ALLOWED
