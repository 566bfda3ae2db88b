"""Where readings come from. A live source has ``name``, ``poll(at)`` and ``close()``.

``poll`` gives ``[(Card, Reading)]`` and raises Unavailable when nothing can be read at all; a
single card that fails is a reading with reasons, so that the other cards keep flowing.
"""

from __future__ import annotations


class Unavailable(Exception):
    """No card can be read now; ``code`` names why, ``detail`` is for people."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
