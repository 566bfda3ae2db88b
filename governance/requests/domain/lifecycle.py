"""The life of a request as one table: what leads where, and which ability it takes.

`sign` is a signature that is not the last of its chain, `approve` the last one. Guards that need
more than the state (whose request it is, whose turn, the budget) stand in `policies` and
`services`.
"""

from __future__ import annotations

from governance.kernel.lifecycle import Lifecycle, Transition
from governance.kernel.reasons import N_

OWN, SIGN, BUY, RUN = "requests.create", "requests.approve", "rentals.purchase", "rentals.manage"

REQUEST = Lifecycle(
    "request",
    [
        Transition("draft", "submit", "submitted", OWN),
        Transition("draft", "withdraw", "withdrawn", OWN),
        Transition("submitted", "sign", "submitted", SIGN),
        Transition("submitted", "approve", "approved", SIGN),
        Transition("submitted", "ask_back", "changes_asked", SIGN),
        Transition("submitted", "refuse", "refused", SIGN),
        Transition("submitted", "withdraw", "withdrawn", OWN),
        Transition("submitted", "expire", "expired"),
        Transition("changes_asked", "submit", "submitted", OWN),
        Transition("changes_asked", "withdraw", "withdrawn", OWN),
        Transition("changes_asked", "expire", "expired"),
        Transition("approved", "purchase", "purchasing", BUY),
        Transition("approved", "activate", "active", RUN),
        Transition("approved", "withdraw", "withdrawn", OWN),
        Transition("approved", "expire", "expired"),
        Transition("purchasing", "activate", "active", RUN),
        Transition("purchasing", "return", "submitted", BUY),
        Transition("purchasing", "unbuy", "approved", BUY),
        Transition("active", "extend", "extended", RUN),
        Transition("active", "complete", "completed", RUN),
        Transition("extended", "extend", "extended", RUN),
        Transition("extended", "complete", "completed", RUN),
    ],
)

STATES = {
    "draft": N_("Draft"),
    "submitted": N_("Submitted"),
    "changes_asked": N_("Changes asked"),
    "approved": N_("Approved"),
    "refused": N_("Refused"),
    "withdrawn": N_("Withdrawn"),
    "purchasing": N_("Purchasing"),
    "active": N_("Active"),
    "extended": N_("Extended"),
    "completed": N_("Completed"),
    "expired": N_("Expired"),
}
OPEN = ("draft", "submitted", "changes_asked")
HOLDING = ("approved", "purchasing", "active", "extended")
"""States in which a hold on the budget stands."""
RELEASING = ("withdrawn", "expired", "completed", "submitted")
"""States that, when entered from a holding one, give the hold back."""
EDITABLE = ("draft", "changes_asked")
