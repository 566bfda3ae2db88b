"""The tone of each state, the same on every page: good, watch, act, unknown or plain."""

TONES = {
    "draft": "plain",
    "submitted": "watch",
    "pending": "watch",
    "waiting": "watch",
    "needs_info": "watch",
    "asked_back": "watch",
    "approved": "good",
    "purchasing": "watch",
    "planned": "plain",
    "active": "good",
    "running": "good",
    "completed": "good",
    "ended": "plain",
    "closed": "plain",
    "cancelled": "plain",
    "withdrawn": "plain",
    "refused": "act",
    "rejected": "act",
    "failed": "act",
    "expired": "act",
    "revoked": "plain",
    "open": "watch",
    "accepted": "good",
    "dismissed": "plain",
    "snoozed": "plain",
    "matched": "good",
    "reconciled": "good",
    "differs": "act",
    "held": "watch",
    "consumed": "plain",
    "released": "plain",
    "exceeded": "act",
    "within": "good",
    "online": "good",
    "stale": "watch",
    "offline": "act",
    "unknown": "unknown",
}


def tone_of(state: str, kind: str = "") -> str:
    """A state nobody named is unknown: it shows, in grey, rather than pass for good."""
    return TONES.get(f"{kind}.{state}", TONES.get(str(state), "unknown"))
