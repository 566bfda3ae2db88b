"""Series of real cards by both ways in: pulled from a collector, and imported from the file.

Both must leave the same minutes, hours and days, byte for byte, and the report must give the
means that `data/checks.md` names.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import pytest

from governance.config.env import ROOT
from governance.plumbing.embedded import Postgres, ensure_servers
from tests.journeys.living import Living, any_port, living, surroundings, wait

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("tidy_servers"),
]

DELIVERY = {"card_id", "holding_id", "stream_id", "agent_id", "epoch", "seq"}
"""Columns that say how a row came in, or number things within one database."""


@dataclass(frozen=True)
class Series:
    """A file and what `data/checks.md` says of it."""

    name: str
    options: tuple[str, ...]
    day: str
    cards: int
    duty: float
    power: float | None = None


SERIES = (
    Series(
        "h100ish_8cards_150s",
        (
            *("--scale", "percent", "--columns"),
            "card=gpu_index,gpu_duty_share=utilization_gpu_percent,power_w=power_W,"
            "temperature_c=temperature_C",
        ),
        "2025-09-24",
        cards=8,
        duty=0.984844,
        power=386.673,
    ),
    Series(
        "rtx_20gb_1card_5s_2h40",
        (
            *("--card", "0", "--timezone", "UTC", "--columns"),
            "0=timestamp,1=gpu_duty_share,2=memory_duty_share,3=memory_used_bytes,"
            "5=temperature_c,6=power_w",
        ),
        "2026-04-25",
        cards=1,
        duty=0.01430577,
        power=16.5209,
    ),
    Series(
        "v100s_1card_1s",
        (
            *("--timezone", "UTC", "--columns"),
            "card=index,model=name,gpu_duty_share=utilization.gpu [%],"
            "memory_duty_share=utilization.memory [%],memory_total_bytes=memory.total [MiB],"
            "memory_used_bytes=memory.used [MiB],temperature_c=temperature.gpu",
        ),
        "2025-06-13",
        cards=1,
        duty=0.036729,
    ),
)


@pytest.fixture(scope="module")
def pulled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    """A living system without demonstration."""
    with living(tmp_path_factory.mktemp("pulled") / "data", demo=False) as system:
        yield system


ENROL = """
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
made = services.enrol_node(
    actor=SYSTEM, name={node!r}, address={address!r}, interval_seconds=5, now=clock.now()
)
print("token", made.token)
"""


@contextmanager
def collector(
    system: Living, series: Path, options: tuple[str, ...], folder: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """The real collector, playing the file as fast as it can with the recorded times; its node
    is enrolled under the file's name."""
    port = any_port()
    script = ENROL.format(node=series.stem, address=f"http://127.0.0.1:{port}")
    (folder / "token").write_text(system.manage("shell", "-c", script).split()[-1])
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "collector", "run", "--source", f"replay:{series}"),
                *("--replay-speed", "max", "--node", series.stem),
                *("--bind", f"127.0.0.1:{port}", "--token-file", str(folder / "token")),
                *("--data-dir", str(folder / "spool"), *options),
            ],
            cwd=ROOT,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def dump(url: str, node: str) -> str:
    """Minutes, hours and days of a node's cards as text, in a fixed order."""
    parts = []
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        for table in ("minutesample", "usagehour", "usageday"):
            cursor.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
                " ORDER BY column_name",
                [f"telemetry_{table}"],
            )
            names = [name for (name,) in cursor.fetchall() if name not in DELIVERY]
            cursor.execute(
                f"SELECT c.uuid, {', '.join(f't.{name}' for name in names)}"
                f" FROM telemetry_{table} t JOIN telemetry_card c ON c.id = t.card_id"
                " JOIN telemetry_node n ON n.id = c.node_id WHERE n.name = %s",
                [node],
            )
            rows = sorted(repr(row) for row in cursor.fetchall())
            parts += [f"{table}: {len(rows)}", str(names), *rows]
    connection.close()
    return "\n".join(parts)


def unrolled(url: str) -> int:
    """Hours and days that wait for being rolled up, and nodes that were never pulled."""
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM telemetry_dirtyhour)"
            " + (SELECT count(*) FROM telemetry_dirtyday)"
        )
        (count,) = cursor.fetchone() or (0,)
    connection.close()
    return int(count)


@pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)
def test_pulled_and_imported_are_the_same(
    series: Series, pulled: Living, shared_dir: Path, tmp_path: Path
) -> None:
    file = shared_dir / "data" / "real" / "series" / f"{series.name}.csv"
    url = Postgres(pulled.data_dir).url
    empty = dump(url, series.name)
    with collector(pulled, file, series.options, tmp_path):
        wait(lambda: dump(url, series.name) != empty, 90)
        seen = ""
        while seen != (seen := dump(url, series.name)):
            wait(lambda: unrolled(url) == 0, 60)
            time.sleep(6)

    imported = tmp_path / "imported"
    command = ["import_telemetry", str(file), "--format", "csv", "--node", series.name]
    with ensure_servers(imported):
        done = subprocess.run(
            [sys.executable, "manage.py", *command, *series.options],
            cwd=ROOT,
            env=surroundings(imported),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert dump(Postgres(imported).url, series.name) == seen

    report = json.loads(
        pulled.manage(
            *("report", "utilization", "--from", series.day, "--to", series.day),
            *("--timezone", "UTC", "--group-by", "node", "--format", "json"),
        )
    )
    [row] = [row for row in report["rows"] if row["group"] == series.name]
    assert row["cards"] == series.cards
    assert row["gpu_duty_mean"] == pytest.approx(series.duty, rel=1e-5)
    if series.power is not None:
        assert row["power_mean_w"] == pytest.approx(series.power, rel=1e-5)
