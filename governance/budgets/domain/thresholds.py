"""Which marks of a budget have been reached."""

from __future__ import annotations

from decimal import Decimal

THRESHOLDS = (50, 80, 95, 100)


def reached(committed: Decimal, limit: Decimal) -> tuple[int, ...]:
    """The marks in percent at or under committed / limit; a limit of zero reaches all at once."""
    if limit <= 0:
        return THRESHOLDS if committed > 0 else ()
    return tuple(mark for mark in THRESHOLDS if committed * 100 >= mark * limit)
