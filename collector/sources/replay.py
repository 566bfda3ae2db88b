"""Playing a recorded series: as fast as wanted, with its own times or moved to now."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from collector.formats import FormatError
from collector.model import Card, Reading

BATCH = 500
PRUNE_EVERY_S = 3600.0  # of the recording's own time


class Replay:
    """Plays a file into the spool.

    ``speed`` is a factor or None (as fast as possible, the default with times kept and ``max``).
    ``shift``: ``start`` moves the first reading to now; ``end`` moves the last one to now, so that
    the series becomes history at once and, with ``loop``, goes on live. Rows are marked as
    simulated whenever times are moved or the series loops.
    """

    def __init__(
        self,
        path: str,
        events: list[tuple[float, Card, Reading | dict]],
        *,
        speed: float | None,
        loop: bool,
        shift: str | None,
        clock=time.time,
    ) -> None:
        if not events:
            raise FormatError(f"{path}: no readings in the file")
        self._key = f"replay:{os.path.abspath(path)}"
        self._name = os.path.basename(path)
        # a row is due when its minute is over
        due = [
            (at // 60 * 60 + 60 if isinstance(item, dict) else at, card, item)
            for at, card, item in events
        ]
        self._events = sorted(due, key=lambda event: event[0])
        self._speed = speed
        self._loop = loop
        self._shift = shift
        self._clock = clock
        self._prune_at = float("-inf")
        self.done = threading.Event()
        for _, card, _ in self._events:
            card.labels.setdefault("replay", self._name)
            if loop or shift:
                card.simulated = True
            if card.simulated:
                card.labels["simulated"] = "true"

    def play(self, spool, stop: threading.Event, on_tick=lambda at, batch: None) -> None:
        """Store everything, waiting between readings as asked; returns at the end or on stop."""
        first, last = self._events[0][0], self._events[-1][0]
        stamps = sorted({at for at, _, _ in self._events})
        step = stamps[-1] - stamps[-2] if len(stamps) > 1 else 60.0
        length = last - first + step
        seen = float(spool.meta(self._key) or "-inf")
        offset = self._offset(first, last)
        started = time.monotonic()
        while True:
            pending: list[tuple[float, list]] = []
            for at, batch in self._moments(offset):
                if at <= seen:
                    continue
                if pending and (self._waits(at, first, started) or len(pending) >= BATCH):
                    self._store(spool, pending, on_tick)
                    pending = []
                if not self._wait(at, first, started, stop):
                    return
                pending.append((at, batch))
            self._store(spool, pending, on_tick)
            if not self._loop:
                break
            offset += 60 * round(length / 60) if self._has_rows() else length
        spool.fold_until(None)
        self.done.set()

    def first(self) -> tuple[float, list[tuple[Card, Reading | dict]], None]:
        """The first moment of the recording, for ``once`` and ``doctor``."""
        return *next(self._moments(0.0)), None

    def _offset(self, first: float, last: float) -> float:
        if self._shift is None:
            return 0.0
        offset = self._clock() - (first if self._shift == "start" else last)
        return offset // 60 * 60 if self._has_rows() else offset

    def _has_rows(self) -> bool:
        return any(isinstance(item, dict) for _, _, item in self._events)

    def _moments(self, offset: float):
        at: float | None = None
        batch: list[tuple[Card, Reading | dict]] = []
        for stamp, card, item in self._events:
            if at is not None and stamp != at:
                yield at + offset, batch
                batch = []
            at = stamp
            batch.append((card, item))
        if at is not None:
            yield at + offset, batch

    def _delay(self, at: float, first: float, started: float) -> float:
        if self._shift:
            return at - self._clock()
        if self._speed is None:
            return 0.0
        return started + (at - first) / self._speed - time.monotonic()

    def _waits(self, at: float, first: float, started: float) -> bool:
        return self._delay(at, first, started) > 0

    def _wait(self, at: float, first: float, started: float, stop: threading.Event) -> bool:
        while not stop.is_set():
            delay = self._delay(at, first, started)
            if delay <= 0:
                return True
            stop.wait(min(delay, 5.0))
        return False

    def _store(self, spool, moments: list[tuple[float, list]], on_tick) -> None:
        if not moments:
            return
        ticks, rows = [], []
        for at, batch in moments:
            readings = [(card, item) for card, item in batch if isinstance(item, Reading)]
            if readings:
                ticks.append((at, readings))
            rows += [
                (card, int(at // 60) * 60 - 60, item)
                for card, item in batch
                if isinstance(item, dict)
            ]
        last = moments[-1][0]
        spool.store(ticks, rows, {self._key: repr(last)})
        for tick in ticks:
            on_tick(*tick)
        spool.fold_until(last // 60 * 60)
        if last >= self._prune_at:
            self._prune_at = last + PRUNE_EVERY_S
            spool.prune(last)


def load_events(path: str, options: dict[str, Any]) -> list[tuple[float, Card, Reading | dict]]:
    """Read a recording: CSV series, or our JSON lines by the ending ``.jsonl``."""
    from collector.formats.jsonl import read_jsonl
    from collector.formats.series import read_series

    reader = read_jsonl if path.endswith((".jsonl", ".ndjson")) else read_series
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return list(reader(file, **options))
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not UTF-8 text") from None
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def parse_speed(text: str) -> float | None:
    """``max`` as None, else a positive factor."""
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e9:
        raise FormatError(f"--replay-speed {text!r}: write a factor over 0, or max")
    return speed
