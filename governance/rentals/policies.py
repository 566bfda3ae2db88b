"""Who may rent, change and charge."""

from __future__ import annotations

from governance.kernel.policy import Actor, Decision, grants, rule


@rule("rentals.purchase")
def purchase(actor: Actor, thing: object) -> Decision:
    """Operators and finance turn an approved request into a rental, or record a running one."""
    return grants(actor, "rentals.purchase")


@rule("rentals.manage")
def manage(actor: Actor, rental: object) -> Decision:
    """Operators and finance change, extend, stop and end rentals."""
    return grants(actor, "rentals.manage")


@rule("rentals.charge")
def charge(actor: Actor, thing: object) -> Decision:
    """Charges are posted by the system; finance may run it at once."""
    return grants(actor, "ledger.post")


@rule("months.close")
def close_month(actor: Actor, thing: object) -> Decision:
    """Finance closes a month."""
    return grants(actor, "months.close")
