"""The pull path against a bare COPY of the same rows, a day of a fleet, and the roll-up.

Collectors and worker are processes of their own; the collectors play pages made beforehand.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx

from governance.plumbing.supervisor import free_port

NODES, CARDS, MINUTES, PAGE_ROWS = 12, 50, 1_000, 5_000
FLEET_NODES, FLEET_CARDS = 1_250, 8
TURNS = 3
"""Pull and bare COPY take turns, so that both meet the machine in the same mood; best of each."""


@contextlib.contextmanager
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


def stored_text() -> tuple[str, list[bytes]]:
    """The table of the stored rows, and they themselves as CSV in pieces."""
    from django.db import connection

    from governance.telemetry.domain.columns import STORED
    from governance.telemetry.models.samples import MINUTES

    chunks: list[bytes] = []

    class Sink:
        def write(self, data: bytes) -> None:
            chunks.append(bytes(data))

    with connection.cursor() as cursor:
        cursor.execute("SELECT min(minute) FROM telemetry_minutesample")
        table = MINUTES.name(cursor.fetchone()[0])
        cursor.copy_expert(f"COPY (SELECT {', '.join(STORED)} FROM {table}) TO STDOUT CSV", Sink())
    text = b"".join(chunks)
    return table, [text[n : n + 2**20] for n in range(0, len(text), 2**20)]


def bare_copy(table: str, pieces: list[bytes]) -> float:
    """Seconds of COPY alone into the emptied table, keys and partition included."""
    from django.db import connection

    from governance.plumbing.copy import copy_csv
    from governance.telemetry.domain.columns import STORED

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE telemetry_minutesample")
        started = time.perf_counter()
        copy_csv(cursor, table, STORED, pieces)
        return time.perf_counter() - started


def victoria(folder: Path) -> float | None:
    """Rows a second of VictoriaMetrics taking in the stored rows as CSV of twelve metrics over
    one connection; None where its program is not installed (Debian: victoria-metrics)."""
    from django.db import connection

    program = shutil.which("victoria-metrics")
    if program is None:
        return None
    metrics = (
        "bandwidth_mean, bandwidth_active_mean, bandwidth_max, bandwidth_p95, gpu_duty,"
        " memory_duty, sm, tensor, power_w, nvlink, pcie, memory_used_bytes"
    )
    chunks: list[bytes] = []

    class Sink:
        def write(self, data: bytes) -> None:
            chunks.append(bytes(data))

    with connection.cursor() as cursor:
        cursor.copy_expert(
            f"COPY (SELECT card_id, minute * 60::bigint, {metrics} FROM telemetry_minutesample)"
            " TO STDOUT CSV",
            Sink(),
        )
    lines = b"".join(chunks).splitlines(keepends=True)
    named = [f"{n + 3}:metric:{name.strip()}" for n, name in enumerate(metrics.split(","))]
    shape = ",".join(["1:label:card", "2:time:unix_s", *named])
    port = free_port(8218)
    server = subprocess.Popen(
        [program, f"-storageDataPath={folder}", f"-httpListenAddr=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for _ in range(100):
                with contextlib.suppress(httpx.TransportError):
                    client.get("/health")
                    break
                time.sleep(0.1)
            started = time.perf_counter()
            for start in range(0, len(lines), 50_000):
                answer = client.post(
                    "/api/v1/import/csv",
                    params={"format": shape},
                    content=b"".join(lines[start : start + 50_000]),
                )
                answer.raise_for_status()
            return len(lines) / (time.perf_counter() - started)
    finally:
        server.kill()
        server.wait()


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
        turns, copies = [], []
        for turn in range(TURNS):
            forget()
            turns.append(pull())
            if turn == 0:
                stored = _count()
                if stored != rows:
                    raise SystemExit(f"{stored} rows are stored, {rows} were sent")
                table, pieces = stored_text()
            copies.append(bare_copy(table, pieces))
        figures["rows_per_s"] = rows / min(one["seconds"] for one in turns)
        figures["copy_rows_per_s"] = rows / min(copies)
        figures["ratio_to_copy"] = figures["rows_per_s"] / figures["copy_rows_per_s"]
        figures["worker_memory_mib"] = max(one["memory_mib"] for one in turns)
        forget()
        pull()
        with tempfile.TemporaryDirectory(prefix="victoria-") as folder:
            other = victoria(Path(folder))
        if other is not None:
            figures["victoria_metrics_rows_per_s"] = other
            figures["ratio_to_victoria_metrics"] = figures["rows_per_s"] / other
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
        "victoria_metrics_rows_per_s": "rows/s of 12 metrics as CSV",
        "ratio_to_victoria_metrics": "",
        "rollup_hours_seconds": "s",
        "rollup_rows": "rows",
        "fleet_cpu_share": f"of a core, {FLEET_NODES * FLEET_CARDS} cards at a row a minute",
        "fleet_seconds_per_minute": "s for one minute of the fleet",
    }
    return figures, {key: units[key] for key in figures}


def _count() -> int:
    from governance.telemetry.models import MinuteSample

    return MinuteSample.objects.count()
