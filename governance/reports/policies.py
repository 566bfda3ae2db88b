"""Who may answer, decide and export."""

from __future__ import annotations

from typing import Any

from governance.kernel.policy import Actor, Decision, grants, rule


@rule("recommendations.answer")
def answer(actor: Actor, recommendation: Any) -> Decision:
    """The lead of the rental's team says why, or that it will be changed."""
    team_id = recommendation.rental.project.team_id if recommendation else None
    return grants(actor, "recommendations.answer", team_id)


@rule("recommendations.decide")
def decide(actor: Actor, recommendation: Any) -> Decision:
    """Approvers accept, dismiss and snooze."""
    return grants(actor, "recommendations.decide")


@rule("exports.run")
def run_exports(actor: Actor, thing: object) -> Decision:
    """Finance and auditors take out FOCUS files, the journal and statements."""
    return grants(actor, "exports.run")


@rule("invoices.manage")
def manage_invoices(actor: Actor, thing: object) -> Decision:
    """Finance imports invoices and books what differs."""
    return grants(actor, "invoices.manage")
