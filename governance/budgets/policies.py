"""Who may see and change budgets, the ledger and exchange rates."""

from __future__ import annotations

from governance.kernel.policy import Actor, Decision, grants, rule


@rule("budgets.manage")
def manage(actor: Actor, budget: object) -> Decision:
    """Finance makes budgets and changes their limits."""
    return grants(actor, "budgets.manage")


@rule("budgets.overdraft")
def overdraft(actor: Actor, budget: object) -> Decision:
    """Only finance lets a budget be exceeded."""
    return grants(actor, "budgets.overdraft")


@rule("ledger.see")
def see_ledger(actor: Actor, thing: object) -> Decision:
    """Finance and auditors read the ledger."""
    return grants(actor, "ledger.see")


@rule("ledger.post")
def post(actor: Actor, thing: object) -> Decision:
    """Finance posts and reverses by hand; everything else is posted by the system."""
    return grants(actor, "ledger.post")


@rule("fx.manage")
def manage_rates(actor: Actor, thing: object) -> Decision:
    """Finance keeps the exchange rates."""
    return grants(actor, "fx.manage")
