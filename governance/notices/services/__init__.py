"""Acts on notices: tell people and channels, keep preferences and channels."""

from governance.notices.services.keeping import (
    add_channel,
    close_channel,
    mark_read,
    set_preferences,
    test_channel,
    try_again,
)
from governance.notices.services.sending import send_digests, send_mail, send_to_channel
from governance.notices.services.telling import tell

__all__ = [
    "add_channel",
    "close_channel",
    "mark_read",
    "send_digests",
    "send_mail",
    "send_to_channel",
    "set_preferences",
    "tell",
    "test_channel",
    "try_again",
]
