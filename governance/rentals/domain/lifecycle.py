"""The life of a rental as one table."""

from __future__ import annotations

from governance.kernel.lifecycle import Lifecycle, Transition
from governance.kernel.reasons import N_

STATES = {
    "planned": N_("Planned"),
    "trial": N_("Trial"),
    "active": N_("Active"),
    "stopped": N_("Stopped"),
    "ended_early": N_("Ended early"),
    "ended": N_("Ended"),
    "cancelled": N_("Cancelled"),
}
RUNNING = ("trial", "active", "stopped")
OVER = ("ended_early", "ended", "cancelled")

_M = "rentals.manage"
LIFECYCLE = Lifecycle(
    "rental",
    [
        Transition("planned", "begin", "active"),
        Transition("planned", "try", "trial"),
        Transition("planned", "cancel", "cancelled", _M),
        Transition("trial", "keep", "active", _M),
        Transition("trial", "end_early", "ended_early", _M),
        Transition("trial", "expire", "ended"),
        *(
            Transition("active", act, "active", _M)
            for act in ("reprice", "renew", "extend", "upgrade", "downgrade")
        ),
        Transition("active", "stop", "stopped", _M),
        Transition("active", "end_early", "ended_early", _M),
        Transition("active", "expire", "ended"),
        Transition("stopped", "start", "active", _M),
        Transition("stopped", "end_early", "ended_early", _M),
        Transition("stopped", "expire", "ended"),
    ],
)
