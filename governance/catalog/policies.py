"""Who may see and change the catalogue."""

from __future__ import annotations

from governance.kernel.policy import Actor, Decision, grants, rule


@rule("catalog.manage")
def manage(actor: Actor, thing: object) -> Decision:
    """Operators import price sheets, close offers and confirm figures."""
    return grants(actor, "catalog.manage")
