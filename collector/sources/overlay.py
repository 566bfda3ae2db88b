"""DCGM's field 1005 for cards that NVML gives no bandwidth of.

Costs nothing until a card asks: the HTTP client is loaded when something listens at the address.
"""

from __future__ import annotations

import time

from collector.sources import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOK_AGAIN_S = 60.0


class Overlay:
    """``overlay(uuid)`` is ``(share, window in ms)`` or None."""

    def __init__(self, url: str, clock=time.monotonic) -> None:
        self._url = url
        self._clock = clock
        self._polled: Any = None
        self._look_at = 0.0

    def __call__(self, uuid: str) -> tuple[float, float] | None:
        if self._polled is None and not self._start():
            return None
        try:
            readings = self._polled.poll(0.0)
        except Unavailable:
            return None
        for card, reading in readings:
            if card.uuid == uuid and reading.source == "dcgm_1005":
                return reading.bandwidth, reading.window_ms
        return None

    def _start(self) -> bool:
        from collector.sources.choose import listens

        if self._clock() < self._look_at:
            return False
        self._look_at = self._clock() + LOOK_AGAIN_S
        if listens(self._url) is None:
            return False
        from collector.sources.dcgm import source

        self._polled = source(self._url)
        return True

    def close(self) -> None:
        if self._polled is not None:
            self._polled.close()
