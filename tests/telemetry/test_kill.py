"""Kill -9 of collector, worker, broker, database while rows are pulled: none lost or doubled."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg2
import pytest

from governance.config.env import ROOT
from governance.plumbing.embedded import Postgres, Valkey
from governance.plumbing.supervisor import free_port
from tests.journeys.living import Living, living, wait

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("tidy_servers"),
]

CARDS, MINUTES, EVERY = 4, 360, 10
SPEED = 540
"""Six hours of readings in 40 seconds."""

ENROL = """
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
made = services.enrol_node(
    actor=SYSTEM, name="killed", address={address!r}, interval_seconds=5, now=clock.now()
)
print("token", made.token)
"""


class Collector:
    """The real collector, which can be killed and started on its spool again."""

    def __init__(self, folder: Path, series: Path, port: int, token: str) -> None:
        self.command = [
            *(sys.executable, "-m", "collector", "run", "--source", f"replay:{series}"),
            *("--replay-speed", str(SPEED), "--metric-source", "nvml_gpm"),
            *("--bind", f"127.0.0.1:{port}", "--data-dir", str(folder), "--token", token),
        ]
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def revive(self) -> None:
        self.kill()
        self.process = self.start()


def series(file: Path) -> None:
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=8)
    with file.open("w") as out:
        out.write("timestamp,card,gpu_duty_share,bandwidth_share\n")
        for second in range(0, MINUTES * 60, EVERY):
            at = (start + timedelta(seconds=second)).isoformat()
            for card in range(CARDS):
                out.write(f"{at},GPU-kill-{card},0.5,0.{(second // EVERY + card) % 9 + 1}\n")


def ask(system: Living, sql: str) -> tuple[int, ...]:
    """One row of the living database; empty while it is away."""
    try:
        connection = psycopg2.connect(Postgres(system.data_dir).url)
        with connection, connection.cursor() as cursor:
            cursor.execute(sql)
            found = cursor.fetchone()
        connection.close()
        return tuple(int(value or 0) for value in found)
    except psycopg2.OperationalError:
        return ()


def stored(system: Living) -> int:
    found = ask(system, "SELECT count(*) FROM telemetry_minutesample")
    return found[0] if found else -1


def kill_server(server: Postgres | Valkey, door: Path) -> None:
    """Kill -9 of the process that listens at the socket `door`, then a start as an operator's."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(door))
        credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, _, _ = struct.unpack("3i", credentials)
    os.kill(pid, signal.SIGKILL)
    wait(lambda: not server.present(), 20)
    wait(lambda: _starts(server), 60)


def _starts(server: Postgres | Valkey) -> bool:
    try:
        server.start()
    except Exception:
        time.sleep(0.5)
        return False
    return True


def test_nothing_is_lost_and_nothing_is_doubled(tmp_path: Path) -> None:
    file = tmp_path / "killed.csv"
    series(file)
    port = free_port(8210)
    with living(tmp_path / "data", demo=False) as system:
        token = system.manage(
            "shell", "-c", ENROL.format(address=f"http://127.0.0.1:{port}")
        ).split()[-1]
        collector = Collector(tmp_path / "spool", file, port, token)
        try:
            seen: list[int] = []

            def grows() -> None:
                before = stored(system)
                wait(lambda: stored(system) > max(before, 0), 120)
                seen.append(stored(system))

            grows()
            collector.revive()
            grows()
            workers = [pid for pid, line in system.children().items() if " worker " in line]
            os.kill(workers[0], signal.SIGKILL)
            grows()
            broker, database = Valkey(system.data_dir), Postgres(system.data_dir)
            kill_server(broker, broker.socket)
            grows()
            kill_server(database, database.socket_folder / ".s.PGSQL.5432")
            wait(lambda: stored(system) >= seen[-1], 60)
            collector.revive()
            wait(lambda: stored(system) == CARDS * MINUTES, 240)
        finally:
            collector.kill()
        assert seen == sorted(seen), "what was stored stayed stored"
        minutes, samples, keys = ask(
            system,
            "SELECT count(*), sum(samples), count(DISTINCT (card_id, minute))"
            " FROM telemetry_minutesample",
        )
        assert (minutes, keys) == (CARDS * MINUTES, CARDS * MINUTES)
        assert samples == CARDS * MINUTES * 60 // EVERY
        wait(lambda: ask(system, "SELECT count(*) FROM telemetry_dirtyhour") == (0,), 120)
        hours = ask(system, "SELECT sum(minutes), sum(samples) FROM telemetry_usagehour")
        assert hours == (CARDS * MINUTES, samples)
