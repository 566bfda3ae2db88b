"""Routes of people, teams, tokens and the audit trail."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from governance.accounts import services
from governance.accounts.models import Grant, Membership
from tests import make
from tests.matrix.shapes import EVERYBODY, INSIDERS, Route

ADMIN: dict[str, Any] = {"allow": {"admin"}, "forbidden": EVERYBODY}
TRAIL: dict[str, Any] = {"allow": {"finance", "auditor", "admin"}, "forbidden": EVERYBODY}
TEAM: dict[str, Any] = {"allow": {"admin", "lead"}, "forbidden": INSIDERS}


def prepare(world: Any) -> None:
    """Somebody with a role and a membership to end; a token of the member's."""
    world.other = make.user("Somebody", team=world.house.team, across="auditor")
    world.grant = Grant.objects.get(user=world.other)
    world.membership = Membership.objects.get(user=world.other)
    world.closed = make.user("Closed")
    type(world.closed).objects.filter(pk=world.closed.pk).update(is_active=False)
    world.token = services.create_token(
        actor=world.house.member,
        name="ci",
        scopes=["requests.see"],
        expires_at=world.now + timedelta(days=1),
        now=world.now,
    ).row


def other(world: Any) -> list[Any]:
    return [world.other.pk]


def token(world: Any) -> list[Any]:
    return [world.token.pk]


def slug(world: Any) -> list[Any]:
    return [world.house.team.slug]


ROUTES = [
    Route("accounts:people", **ADMIN),
    Route(
        "accounts:people", "POST", data=lambda w: {"email": "n@example.test", "name": "N"}, **ADMIN
    ),
    Route("accounts:import", **ADMIN),
    Route("accounts:person", args=other, **ADMIN),
    Route("accounts:end_role", "POST", args=lambda w: [w.grant.pk], **ADMIN),
    Route("accounts:close", "POST", args=other, **ADMIN),
    Route("accounts:reopen", "POST", args=lambda w: [w.closed.pk], **ADMIN),
    Route("accounts:teams"),
    Route("accounts:teams", "POST", data=lambda w: {"slug": "n", "name": "N"}, **ADMIN),
    Route("accounts:team", args=slug, allow=INSIDERS),
    Route("accounts:team", "POST", args=slug, **TEAM),
    Route("accounts:leave", "POST", args=lambda w: [*slug(w), w.membership.pk], **TEAM),
    Route(
        "accounts:add_project",
        "POST",
        args=slug,
        data=lambda w: {"slug": "n", "name": "N"},
        **TEAM,
    ),
    Route("accounts:close_project", "POST", args=lambda w: [w.house.project.slug], **TEAM),
    Route("accounts:profile"),
    Route("accounts:tokens"),
    Route("accounts:rotate_token", "POST", args=token, allow={"member"}),
    Route("accounts:revoke_token", "POST", args=token, allow={"member", "admin"}),
    Route("accounts:audit", **TRAIL),
    Route("accounts:audit_export", **TRAIL),
]
