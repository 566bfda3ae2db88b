"""How long the embedded servers take to be there and gone, fresh and again."""

import tempfile
import time
from collections.abc import Callable

from governance.plumbing.embedded import Postgres, Valkey


def seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def run() -> tuple[dict[str, float], dict[str, str]]:
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-start-") as folder:
        for server in (Postgres(folder), Valkey(folder)):
            figures[f"{server.name}_first_start"] = seconds(server.start)
            figures[f"{server.name}_stop"] = seconds(server.stop)
            figures[f"{server.name}_later_start"] = seconds(server.start)
            server.stop()
    return figures, dict.fromkeys(figures, "s")
