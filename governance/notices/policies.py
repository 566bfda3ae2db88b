"""Who keeps the channels."""

from __future__ import annotations

from governance.kernel.policy import Actor, Decision, grants, rule


@rule("channels.manage")
def manage_channels(actor: Actor, thing: object) -> Decision:
    """Administrators add and close webhooks and robots."""
    return grants(actor, "organisation.manage")
