"""The agent on a faster clock: ``python -m tests.collector.fast FACTOR run ...``.

Wall clock, monotonic clock and waiting are scaled alike, so that an hour passes in a few seconds
with all of the agent's own code in between.
"""

from __future__ import annotations

import sys
import threading
import time


def speed_up(factor: float) -> None:
    wall, monotonic, wait = time.time, time.monotonic, threading.Event.wait
    start_wall, start_monotonic = wall(), monotonic()
    time.time = lambda: start_wall + (monotonic() - start_monotonic) * factor
    time.monotonic = lambda: start_monotonic + (monotonic() - start_monotonic) * factor

    def fast_wait(self: threading.Event, timeout: float | None = None) -> bool:
        return wait(self, None if timeout is None else max(0.0, timeout) / factor)

    threading.Event.wait = fast_wait  # type: ignore[method-assign]


if __name__ == "__main__":
    speed_up(float(sys.argv[1]))
    from collector.cli import main

    sys.exit(main(sys.argv[2:]))
