"""Open requests and stand-ins of a person who leaves."""

from __future__ import annotations

from datetime import datetime

from governance.accounts.leaving import hands_over
from governance.kernel.policy import Actor
from governance.plumbing import audit, locks
from governance.requests.models import ComputeRequest, Delegation

OPEN = ("draft", "submitted", "changes_asked", "approved", "purchasing", "active", "extended")


@hands_over("requests")
def requests(actor: Actor, leaver_id: int, heir_id: int | None, now: datetime) -> int:
    """Everything not yet over goes to the heir; signatures handed over end."""
    mine = ComputeRequest.objects.filter(requester_id=leaver_id, state__in=OPEN)
    ids = list(mine.values_list("pk", flat=True))
    if heir_id is None:
        return len(ids)
    for row in locks.lock(ComputeRequest.objects.all(), ids):
        row.requester_id = heir_id
        row.save(update_fields=["requester"])
        audit.record(
            actor=actor,
            act="requests.hand_over",
            thing=row,
            before={"requester": leaver_id},
            after={"requester": heir_id},
        )
    Delegation.objects.filter(giver_id=leaver_id, revoked_at=None).update(revoked_at=now)
    return len(ids)
