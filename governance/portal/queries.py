"""What joins rooms for the frame."""

from governance.kernel.policy import Actor
from governance.plumbing import clock
from governance.requests import queries as requests


def waiting(viewer: Actor) -> dict[str, int]:
    """How many things wait for the viewer, by place of the navigation."""
    if not viewer.abilities() & {"requests.approve", "requests.approve_finance"}:
        return {}
    return {"approvals": requests.inbox_count(viewer, requests.local_day(clock.now()))}
