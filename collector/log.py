"""Lines on standard error. The ``logging`` package costs memory that this agent need not spend."""

from __future__ import annotations

import sys
import time

_last: dict[str, float] = {}


def log(text: str, *, every: float = 0.0) -> None:
    """One line with the time; with ``every`` the same text at most once in so many seconds."""
    now = time.monotonic()
    if every:
        if now - _last.get(text, -every) < every:
            return
        if len(_last) > 500:
            _last.clear()
        _last[text] = now
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        sys.stderr.write(f"{stamp} {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # a closed terminal must not stop the readings
