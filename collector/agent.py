"""The running agent: one sampling thread, the spool, and what watches over them."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time

from collector.log import log
from collector.model import ABSENT, LOST, OK, Card, Reading
from collector.nodeio import NodeRates
from collector.settings import Settings
from collector.sources import Unavailable
from collector.spool import GRACE_S, Spool, is_corrupt

PRUNE_EVERY_S = 600
STEP_S = 1.5  # wall against monotonic clock: a larger jump is recorded


class Agent:
    """Samples into the spool until stopped. ``now`` readings are kept for /metrics."""

    def __init__(self, settings: Settings, spool: Spool, source) -> None:
        self.settings = settings
        self.spool = spool
        self.source = source
        self.stop = threading.Event()
        self.health: dict[str, dict[str, object]] = {}
        self.latest: dict[tuple[str, str], tuple[float, Card, Reading]] = {}
        self.totals: dict[tuple[str, str, str], int] = {}
        self.counts = {"ticks": 0, "tick_seconds": 0.0, "missed": 0}
        self.last_sample: float | None = None
        self._states: dict[tuple[str, str], str] = {}
        self._in_call: float | None = None
        self._last_turn = time.monotonic()
        self._outage: tuple[float, str] | None = None
        self._next_prune = 0.0
        self._node = NodeRates()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    # life

    def start(self) -> None:
        self._thread.start()

    def run_until_signalled(self) -> None:
        """Sample until SIGTERM or SIGINT; the caller shuts down."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop.set())
        self.start()
        while not self.stop.wait(0.5 if self.settings.interval < 1 else 1.0):
            self._watch()

    def shut_down(self) -> None:
        """Stop sampling; readings of the open minute stay in the spool for the next start."""
        self.stop.set()
        self._thread.join(3.0)
        if self._thread.is_alive():
            log("sampler: still in a driver call, left behind")
            return
        close = getattr(self.source, "close", None)
        if close:
            close()
        self.spool.close()

    def _run(self) -> None:
        play = getattr(self.source, "play", None)
        while not self.stop.is_set():
            try:
                if play:
                    play(self.spool, self.stop, self._show)
                    self.set_health("sampler", "ended", "the recording is over")
                    return
                self._sample()
                return
            except Exception as error:
                self.set_health("sampler", "failed", f"{type(error).__name__}: {error}")
                self.mend(error)
                self.stop.wait(1.0)

    def mend(self, error: Exception) -> None:
        """Replace the store where the error says that it is broken."""
        if isinstance(error, sqlite3.Error) and is_corrupt(error):
            try:
                log(f"spool: {error}; set aside as {self.spool.set_aside()}")
            except (OSError, sqlite3.Error) as second:
                log(f"spool: cannot be set aside: {second}")

    # health

    def set_health(self, component: str, state: str, detail: str = "") -> None:
        """Note a component's state; the time is kept while the state stays the same."""
        before = self.health.get(component)
        if before and before["state"] == state:
            before["detail"] = detail
            return
        from collector.page import iso

        self.health[component] = {
            "state": state,
            "since": iso(self.spool.clock()),
            "detail": detail,
        }
        if before or state != "ok":
            log(f"{component}: {state}{' (' + detail + ')' if detail else ''}")

    def _watch(self) -> None:
        since = self._in_call
        if since is not None and time.monotonic() - since > self.settings.watchdog:
            self.set_health("driver", "hung", f"a call has taken over {self.settings.watchdog:g} s")

    def ready(self) -> tuple[bool, str]:
        """Whether readings flow, and if not, why."""
        self._watch()
        driver = self.health.get("driver", {}).get("state", OK)
        if driver not in (OK, "starting"):
            return False, f"driver: {driver}"
        if hasattr(self.source, "play"):
            return True, OK
        late = time.monotonic() - self._last_turn
        if late > max(self.settings.watchdog, 5 * self.settings.interval):
            return False, f"sampler: no reading since {late:.0f} s"
        if self.last_sample is None:
            return False, "sampler: no reading yet"
        if self.health.get("spool", {}).get("state", OK) != OK:
            return False, f"spool: {self.health['spool']['state']}"
        return True, OK

    # sampling

    def _sample(self) -> None:
        self._note_downtime()
        interval = self.settings.interval
        begin = time.monotonic()
        turn = 0
        offset = time.time() - time.monotonic()
        while not self.stop.is_set():
            started = time.monotonic()
            drift = time.time() - time.monotonic() - offset
            if abs(drift) > STEP_S:
                now = self.spool.clock()
                self.spool.add_gap(
                    min(now - drift, now),
                    max(now - drift, now),
                    f"clock_step:{drift:+.1f}s",
                )
                log(f"clock: stepped by {drift:+.1f} s")
                if drift < 0:
                    # minutes that lie ahead now would wait until the clock comes by again
                    self.spool.fold_until(None)
                offset += drift
            self._tick(self.spool.clock())
            self._last_turn = time.monotonic()
            self.counts["ticks"] += 1
            self.counts["tick_seconds"] += self._last_turn - started
            due = int((time.monotonic() - begin) / interval) + 1
            self.counts["missed"] += max(0, due - turn - 1)
            turn = max(due, turn + 1)
            self.stop.wait(begin + turn * interval - time.monotonic())

    def _note_downtime(self) -> None:
        last, now = self.spool.last_tick(), self.spool.clock()
        if last is not None and now - last > max(10.0, 5 * self.settings.interval):
            self.spool.add_gap(last, now, "agent_down")
        self.spool.fold_until(now - GRACE_S)

    def _tick(self, at: float) -> None:
        self._in_call = time.monotonic()
        try:
            batch = self.source.poll(at)
        except Unavailable as error:
            self._begin_outage(at, error)
            batch = []
        else:
            self._end_outage(at)
        finally:
            self._in_call = None
        self._keep(at, batch)

    def _keep(self, at: float, batch: list[tuple[Card, Reading]]) -> None:
        rates = self._node.read()
        for _, reading in batch:
            for name, value in rates.items():
                setattr(reading, name, value)
        try:
            if batch:
                self.spool.store([(at, batch)])
                self.latest.clear()
                self._show(at, batch)
                self._keep_states(at, batch)
            self.spool.fold_until(at - GRACE_S)
            if at >= self._next_prune or at < self._next_prune - 2 * PRUNE_EVERY_S:
                self._next_prune = at + PRUNE_EVERY_S
                self.spool.prune(at)
            self.set_health("spool", OK)
        except sqlite3.OperationalError as error:
            if is_corrupt(error):
                raise
            # a full disk or a lock held from outside: this tick is lost, the next one tries again
            self.set_health("spool", "cannot_write", str(error))
        self.set_health("sampler", OK)

    def _begin_outage(self, at: float, error: Unavailable) -> None:
        if self._outage is None:
            self._outage = (self.spool.last_tick() or at, error.code)
        self.set_health("driver", error.code, error.detail)
        self.latest.clear()

    def _end_outage(self, at: float) -> None:
        if self._outage is not None:
            start, code = self._outage
            self.spool.add_gap(start, at, code)
            self._outage = None
        self.set_health("driver", OK)

    def _show(self, at: float, batch: list[tuple[Card, Reading]]) -> None:
        """Keep what /metrics shows."""
        self.last_sample = at
        self.latest.update({card.key: (at, card, reading) for card, reading in batch})
        for card, reading in batch:
            for name in ("xid", "ecc_corrected", "ecc_uncorrected"):
                if value := getattr(reading, name):
                    key = (*card.key, name)
                    self.totals[key] = self.totals.get(key, 0) + value

    def _keep_states(self, at: float, batch: list[tuple[Card, Reading]]) -> None:
        """Lost: shown by the driver but not readable. Absent: not shown any more."""
        states = {card.key: LOST if LOST in reading.reasons else OK for card, reading in batch}
        if states == self._states:
            return
        self._states = states
        for key in self.spool.known_cards():
            state = states.get(key, ABSENT)
            if self.spool.set_state(key, state, at):
                log(f"card {key[1]}: {state}")
