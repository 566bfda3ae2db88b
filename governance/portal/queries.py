"""What joins rooms for the homes and the frame."""

from governance.kernel.policy import Actor


def waiting(viewer: Actor) -> dict[str, int]:
    """How many things wait for the viewer, by place of the navigation."""
    return {}
