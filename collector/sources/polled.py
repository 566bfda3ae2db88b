"""Slow sources: exporters and vendor programs, asked in a thread of their own.

The tick never waits for them. What they said stands for the ticks until the next answer, at most
for a few intervals; after that, or when the same figures come back for minutes while the card's
own counters stand still, it is stale and the figures are unknown.
"""

from __future__ import annotations

import threading
import time

from collector.log import log
from collector.model import Card, Reading
from collector.sources import Unavailable

STALE_AFTER = 3  # intervals without an answer
FROZEN_S = 180.0  # the very same text for so long is not a measurement any more


class Polled:
    """``ask`` gives ``([(Card, Reading)], fingerprint)`` or raises Unavailable.

    ``fingerprint`` is text that changes as long as the cards are alive, or None.
    """

    def __init__(self, name: str, ask, *, every: float = 10.0, clock=time.monotonic) -> None:
        self.name = name
        self._ask = ask
        self._every = every
        self._clock = clock
        self._stop = threading.Event()
        self._first = threading.Event()
        self._lock = threading.Lock()
        self._batch: list[tuple[Card, Reading]] = []
        self._at = float("-inf")
        self._trouble: Unavailable | None = Unavailable("starting")
        self._print: str | None = None
        self._print_since = 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            started = self._clock()
            self.refresh()
            self._first.set()
            self._stop.wait(max(0.1, self._every - (self._clock() - started)))

    def refresh(self) -> None:
        """Ask once; errors are kept for the next poll."""
        try:
            batch, fingerprint = self._ask()
        except Unavailable as error:
            with self._lock:
                self._trouble = error
            return
        except Exception as error:
            log(f"{self.name}: {type(error).__name__}: {error}", every=60)
            with self._lock:
                self._trouble = Unavailable(f"{self.name}:failed", str(error))
            return
        now = self._clock()
        with self._lock:
            self._batch, self._at, self._trouble = batch, now, None
            if fingerprint is None or fingerprint != self._print:
                self._print, self._print_since = fingerprint, now

    def poll(self, at: float) -> list[tuple[Card, Reading]]:
        """The newest readings, each as an object of its own; raises Unavailable."""
        self._first.wait(max(1.0, min(5.0, self._every)))
        with self._lock:
            age = self._clock() - self._at
            if age > STALE_AFTER * self._every:
                raise self._trouble or Unavailable(f"{self.name}:stale")
            frozen = self._print is not None and self._clock() - self._print_since > FROZEN_S
            batch = list(self._batch)
        return [(card, _copy(reading, frozen, self._every)) for card, reading in batch]

    def close(self) -> None:
        self._stop.set()


def _copy(reading: Reading, frozen: bool, every: float) -> Reading:
    if frozen:
        stale = Reading()
        stale.because("stale")
        return stale
    again = Reading.unpack(reading.pack())
    again.reasons = list(reading.reasons)
    again.window_ms = every * 1000
    return again
