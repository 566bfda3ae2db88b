"""The agent on a faster clock: ``python -m tests.collector.fast FACTOR ORIGIN run ...``.

Wall clock, monotonic clock and waiting are scaled alike, so that an hour passes in a few seconds
with all of the agent's own code in between. ORIGIN is the unix time at which the fast clock and
the real one agree: with the same one a restarted agent goes on where the killed one was.
"""

from __future__ import annotations

import sys
import threading
import time


def speed_up(factor: float, origin: float) -> None:
    wall, monotonic, wait = time.time, time.monotonic, threading.Event.wait
    start_monotonic = monotonic()
    time.time = lambda: origin + (wall() - origin) * factor
    time.monotonic = lambda: start_monotonic + (monotonic() - start_monotonic) * factor

    def fast_wait(self: threading.Event, timeout: float | None = None) -> bool:
        return wait(self, None if timeout is None else max(0.0, timeout) / factor)

    threading.Event.wait = fast_wait  # type: ignore[method-assign]


if __name__ == "__main__":
    speed_up(float(sys.argv[1]), float(sys.argv[2]))
    from collector.cli import main

    sys.exit(main(sys.argv[3:]))
