"""The pull path against a bare COPY of the same rows, a day of a fleet, and the roll-up.

Collectors and worker are processes of their own; the collectors play pages made beforehand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

NODES, CARDS, MINUTES, PAGE_ROWS = 12, 50, 1_000, 5_000
FLEET_NODES, FLEET_CARDS = 1_250, 8
TURNS = 3


@contextmanager
def collectors(nodes: int, cards: int, minutes: int, limit: int, first: int) -> Iterator[dict]:
    """Collectors of so many nodes; yields their port and the bytes of their pages."""
    arguments = [str(n) for n in (nodes, cards, minutes, limit, first)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench._collectors", *arguments], stdout=subprocess.PIPE
    )
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def pull() -> dict[str, float]:
    """One worker's run."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench._puller"], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def forget() -> None:
    """Back to nodes that were never pulled."""
    from django.db import connection

    from governance.plumbing import clock
    from governance.telemetry.models import PullState

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE telemetry_minutesample, telemetry_dirtyhour")
    PullState.objects.update(
        cursor="", failures=0, lease=None, leased_until=None, due_at=clock.now()
    )


def enrol(nodes: int, port: int) -> None:
    from governance.kernel.policy import SYSTEM
    from governance.plumbing import clock
    from governance.telemetry import services
    from governance.telemetry.models import Node

    Node.objects.update(revoked_at=clock.now())
    stamp = time.monotonic_ns()
    for node in range(nodes):
        services.enrol_node(
            actor=SYSTEM,
            name=f"bench-{stamp}-{node}",
            address=f"http://127.0.0.1:{port}/{node}",
            interval_seconds=3_600,
            now=clock.now() - timedelta(hours=1),
        )


def bare_copy() -> float:
    """Rows a second of COPY alone: the stored rows, out as CSV and back in."""
    from django.db import connection

    from governance.plumbing.copy import copy_csv
    from governance.telemetry.domain.columns import STORED
    from governance.telemetry.models.samples import MINUTES

    with connection.cursor() as cursor:
        cursor.execute("SELECT min(minute), count(*) FROM telemetry_minutesample")
        first, rows = cursor.fetchone()
        table = MINUTES.name(first)
        chunks: list[bytes] = []

        class Sink:
            def write(self, data: bytes) -> None:
                chunks.append(bytes(data))

        names = ", ".join(STORED)
        cursor.copy_expert(f"COPY (SELECT {names} FROM {table}) TO STDOUT CSV", Sink())
        text = b"".join(chunks)
        pieces = [text[n : n + 2**20] for n in range(0, len(text), 2**20)]
        best = 0.0
        for _ in range(TURNS):
            cursor.execute("TRUNCATE telemetry_minutesample")
            started = time.perf_counter()
            copy_csv(cursor, table, STORED, pieces)
            best = max(best, rows / (time.perf_counter() - started))
    return best


def run() -> tuple[dict[str, float], dict[str, str]]:
    from governance.plumbing import clock
    from governance.telemetry import services

    services.keep(now=clock.now())
    midnight = int(clock.now().timestamp()) // 86_400 * 1_440
    first = midnight - 1_440
    figures: dict[str, float] = {}
    with collectors(NODES, CARDS, MINUTES, PAGE_ROWS, first) as served:
        enrol(NODES, served["port"])
        rows = NODES * CARDS * MINUTES
        figures["wire_bytes_per_row"] = served["bytes"] / rows
        turns = []
        for turn in range(TURNS):
            forget()
            turns.append(pull())
            if turn == 0:
                stored = _count()
                if stored != rows:
                    raise SystemExit(f"{stored} rows are stored, {rows} were sent")
        best = min(turns, key=lambda one: one["seconds"])
        figures["rows_per_s"] = rows / best["seconds"]
        figures["copy_rows_per_s"] = bare_copy()
        figures["ratio_to_copy"] = figures["rows_per_s"] / figures["copy_rows_per_s"]
        figures["worker_memory_mib"] = max(one["memory_mib"] for one in turns)
        forget()
        pull()
        started = time.perf_counter()
        while services.roll_hours(now=clock.now()):
            pass
        figures["rollup_hours_seconds"] = time.perf_counter() - started
        figures["rollup_rows"] = rows
    with collectors(FLEET_NODES, FLEET_CARDS, 2, FLEET_CARDS, first) as served:
        enrol(FLEET_NODES, served["port"])
        forget()
        spent = pull()
        figures["fleet_cpu_share"] = spent["cpu"] / 2 / 60
        figures["fleet_seconds_per_minute"] = spent["seconds"] / 2
    units = {
        "wire_bytes_per_row": "bytes, gzipped",
        "rows_per_s": "card-minutes/s, one worker",
        "copy_rows_per_s": "card-minutes/s, bare COPY",
        "ratio_to_copy": "",
        "worker_memory_mib": "MiB",
        "rollup_hours_seconds": "s",
        "rollup_rows": "rows",
        "fleet_cpu_share": f"of a core, {FLEET_NODES * FLEET_CARDS} cards at a row a minute",
        "fleet_seconds_per_minute": "s for one minute of the fleet",
    }
    return figures, units


def _count() -> int:
    from governance.telemetry.models import MinuteSample

    return MinuteSample.objects.count()
