"""Who may do what with a request, with the reason. The requester never decides, by no route."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from governance.kernel.policy import ALLOWED, Actor, Decision, denied, grants, lacks, rule
from governance.kernel.reasons import N_, Reason


@dataclass(frozen=True, slots=True)
class Turn:
    """A request's open step as the rule of signing needs it. `given_by` maps people who have
    handed their signature to the actor to their abilities."""

    requester_id: int
    ability: str
    signed_by: Collection[int] = ()
    given_by: dict[int, frozenset[str]] = field(default_factory=dict)


def person_id(actor: Any) -> int:
    """The person behind the actor, also behind a token; 0 for the system, which owns nothing."""
    return int(getattr(actor, "pk", 0))


@rule("requests.create")
def create(actor: Actor, project: Any) -> Decision:
    """Members of the project's team ask for compute; a closed project asks for nothing.

    Without a project: may the actor ask in any project at all?"""
    if project is None:
        teams = getattr(actor, "team_abilities", {}).values()
        return ALLOWED if any("requests.create" in t for t in teams) else lacks("requests.create")
    if project.closed_at is not None:
        return denied(
            Reason(
                "project_closed",
                N_("The project “%(project)s” is closed."),
                {"project": project.name},
            )
        )
    return grants(actor, "requests.create", project.team_id)


@rule("requests.own")
def own(actor: Actor, request: Any) -> Decision:
    """Editing, submitting, withdrawing and following up: the requester alone."""
    if person_id(actor) != request.requester_id:
        return denied(Reason("not_yours", N_("Only the person who asked may do this.")))
    return grants(actor, "requests.create", request.project.team_id)


@rule("requests.write")
def write(actor: Actor, request: Any) -> Decision:
    """Messages and trial records: the requester, the team's members, and who may sign."""
    abilities = actor.abilities(request.project.team_id)
    wanted = {"requests.create", "requests.approve", "requests.approve_finance", "rentals.manage"}
    if not person_id(actor) or not abilities & wanted:
        return denied(
            Reason("no_part", N_("Only the team and those who decide take part in this request."))
        )
    return ALLOWED


@rule("requests.approve")
def approve(actor: Actor, turn: Any) -> Decision:
    """Sign, ask back or refuse the open step: its ability, own or handed over, and never by the
    requester, nor in the requester's name, nor twice by one person."""
    me = person_id(actor)
    if not me or me == turn.requester_id:
        return denied(Reason("own_request", N_("Nobody decides on their own request.")))
    if me in turn.signed_by:
        return denied(
            Reason("signed_already", N_("You have signed already; another person is needed."))
        )
    if turn.ability in actor.abilities() or stands_in_for(turn) is not None:
        return ALLOWED
    if turn.ability in turn.given_by.get(turn.requester_id, ()):
        return denied(Reason("own_request_handed", N_("Nobody decides in the requester's name.")))
    return grants(actor, turn.ability)


def stands_in_for(turn: Turn) -> int | None:
    """Whose signature a stand-in gives: never the requester's."""
    return next(
        (
            giver
            for giver, abilities in sorted(turn.given_by.items())
            if turn.ability in abilities
            and giver != turn.requester_id
            and giver not in turn.signed_by
        ),
        None,
    )


@rule("requests.inbox")
def inbox(actor: Actor, thing: object) -> Decision:
    """The list of what waits for a signature: those who can ever sign."""
    if actor.abilities() & {"requests.approve", "requests.approve_finance", "policies.manage"}:
        return ALLOWED
    if getattr(thing, "stands_in", False):
        return ALLOWED
    return grants(actor, "requests.approve")


@rule("requests.mark")
def mark(actor: Actor, request: object) -> Decision:
    """Purchasing, activation and completion follow the rental: those who manage rentals."""
    if "rentals.purchase" in actor.abilities():
        return ALLOWED
    return grants(actor, "rentals.manage")


@rule("delegations.manage")
def delegate(actor: Actor, thing: object) -> Decision:
    """Whoever signs may name a stand-in for themselves."""
    if actor.abilities() & {"requests.approve_finance", "policies.manage"}:
        return ALLOWED
    return grants(actor, "requests.approve")


@rule("policies.manage")
def manage_policy(actor: Actor, thing: object) -> Decision:
    """Approval policy and working calendar are the administrator's."""
    return grants(actor, "policies.manage")
