"""The agent beside nvitop-exporter and gpustat on the same stub library, in one run.

Resident memory and CPU of each at 8 cards and one reading a second; the agent's own tick with
durable commit at 8 and 64 cards; readings per card and minute under 50 parallel pulls; growth over
a soak on a faster clock. The rivals come from PyPI into a throw-away environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path

from tests.collector.running import Running
from tests.collector.stub import compiled

RIVALS = ("nvitop-exporter==1.7.2", "gpustat==1.1.1")
PORT = 8110
WATCH_S = 30.0
PULL_EVERY_S = 15.0
SOAK_FACTOR = 600.0
TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def run() -> tuple[dict[str, float], dict[str, str]]:
    """Figures and their units."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-collector-") as name:
        folder = Path(name)
        library = compiled(folder)
        if library is None:
            print("collector: no C compiler, the stub cannot be built: skipped", file=sys.stderr)
            return {}, {}
        orders = folder / "orders"
        orders.write_text("")
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(library.parent),
            "NVMLSTUB_FILE": str(orders),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        _agent_alone(folder, environment, figures)
        _agent_synced(folder, environment, figures)
        _agent_at_64(folder, environment, orders, figures)
        _under_pulls(folder, environment, orders, figures)
        _soak(folder, environment, orders, figures)
        _rivals(folder, environment, figures)
    return figures, {key: _unit(key) for key in figures}


def _unit(key: str) -> str:
    endings = {
        "mib": "MiB",
        "percent": "% of a core",
        "ms": "ms",
        "minute": "readings/card/minute",
        "day": "MiB/day",
    }
    return endings[key.rsplit("_", 1)[-1]]


def resident_mib(pid: int) -> float:
    """Resident memory of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) * TICK


def watch(pid: int, pull, seconds: float = WATCH_S) -> tuple[float, float]:
    """Largest resident MiB and CPU in % of a core, while ``pull`` is called now and then."""
    before, started, most, next_pull = cpu_seconds(pid), time.monotonic(), 0.0, 0.0
    while time.monotonic() - started < seconds:
        if time.monotonic() >= next_pull:
            pull()
            next_pull = time.monotonic() + PULL_EVERY_S
        most = max(most, resident_mib(pid))
        time.sleep(0.2)
    return most, 100 * (cpu_seconds(pid) - before) / (time.monotonic() - started)


def _ticks(agent: Running) -> tuple[float, float]:
    text = agent.get("/metrics")[2].decode()
    names = ("collector_ticks_total", "collector_tick_seconds_total")
    count, spent = (float(re.search(rf"^{name} (\S+)", text, re.M).group(1)) for name in names)
    return count, spent


def _agent_alone(folder: Path, environment: dict[str, str], figures: dict[str, float]) -> None:
    agent = Running(folder / "eight", environment)
    time.sleep(3)
    count, spent = _ticks(agent)
    most, cpu = watch(agent.process.pid, lambda: (agent.page(), agent.get("/metrics")))
    later, more = _ticks(agent)
    figures["agent_resident_mib"] = most
    figures["agent_cpu_percent"] = cpu
    figures["agent_tick_8_cards_ms"] = 1000 * (more - spent) / (later - count)
    agent.stop()


def _agent_synced(folder: Path, environment: dict[str, str], figures: dict[str, float]) -> None:
    """Every tick synced to the disk, which is where its time then goes."""
    agent = Running(folder / "synced", environment, "--fsync", "tick")
    time.sleep(3)
    count, spent = _ticks(agent)
    time.sleep(WATCH_S / 3)
    later, more = _ticks(agent)
    figures["agent_tick_8_cards_each_synced_ms"] = 1000 * (more - spent) / (later - count)
    agent.stop()


def _agent_at_64(
    folder: Path, environment: dict[str, str], orders: Path, figures: dict[str, float]
) -> None:
    orders.write_text("count 64\n")
    agent = Running(folder / "sixtyfour", environment)
    time.sleep(3)
    count, spent = _ticks(agent)
    time.sleep(WATCH_S / 2)
    later, more = _ticks(agent)
    figures["agent_tick_64_cards_ms"] = 1000 * (more - spent) / (later - count)
    figures["agent_resident_64_cards_mib"] = resident_mib(agent.process.pid)
    agent.stop()
    orders.write_text("")


def _under_pulls(
    folder: Path, environment: dict[str, str], orders: Path, figures: dict[str, float]
) -> None:
    """One whole real minute with 50 clients that pull without pause, PCIe calls blocking."""
    orders.write_text("pcie_ms 20\n")
    agent = Running(folder / "pulled", environment, "--rate", "100000")
    stop = threading.Event()

    def client() -> None:
        while not stop.is_set():
            agent.page()
            time.sleep(0.5)

    clients = [threading.Thread(target=client, daemon=True) for _ in range(50)]
    for thread in clients:
        thread.start()
    whole = time.time() // 60 * 60 + 60
    minutes = agent.until(lambda: _whole_minute(agent, int(whole)), patience=130)
    stop.set()
    for thread in clients:
        thread.join(15)
    figures["agent_least_under_50_pulls_per_minute"] = min(minutes)
    figures["agent_most_under_50_pulls_per_minute"] = max(minutes)
    figures["agent_resident_under_50_pulls_mib"] = resident_mib(agent.process.pid)
    agent.stop()
    orders.write_text("")


def _whole_minute(agent: Running, minute: int) -> list[int]:
    columns = agent.page()["columns"]
    pairs = zip(columns["minute"], columns["samples"], strict=True)
    return [samples for when, samples in pairs if when == minute]


def _soak(
    folder: Path, environment: dict[str, str], orders: Path, figures: dict[str, float]
) -> None:
    """Hours of the agent's clock in a minute; growth after caches are full, by a straight line."""
    orders.write_text("minspan 0\n")
    agent = Running(folder / "soak", environment, speed=SOAK_FACTOR)
    time.sleep(45)
    points = []
    for _ in range(50):
        points.append((time.monotonic() * SOAK_FACTOR / 86400, resident_mib(agent.process.pid)))
        time.sleep(0.7)
    agent.stop()
    orders.write_text("")
    days = [x for x, _ in points]
    center = sum(days) / len(days)
    level = sum(y for _, y in points) / len(points)
    spread = sum((x - center) ** 2 for x in days)
    slope = sum((x - center) * (y - level) for x, y in points) / spread
    figures["agent_growth_mib_per_day"] = slope


def _rivals(folder: Path, environment: dict[str, str], figures: dict[str, float]) -> None:
    home = folder / "rivals"
    venv.create(home, with_pip=True)
    command = [str(home / "bin/python"), "-m", "pip", "install", "--quiet", *RIVALS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        print(f"collector: rivals cannot be installed ({last}): skipped", file=sys.stderr)
        return
    exporter = [str(home / "bin/nvitop-exporter"), "--bind-address", "127.0.0.1"]
    exporter += ["--port", str(PORT), "--interval", "1"]
    for name, arguments in (
        ("nvitop_exporter", exporter),
        ("gpustat", [str(home / "bin/gpustat"), "-i", "1", "--no-color"]),
    ):
        process = subprocess.Popen(
            arguments,
            env={**environment, "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        time.sleep(5)
        if process.poll() is not None:
            text = process.stderr.read().decode().strip().splitlines()
            print(f"collector: {name} does not run: {text[-1:]}: skipped", file=sys.stderr)
            continue
        pull = _scrape if name == "nvitop_exporter" else lambda: None
        most, cpu = watch(process.pid, pull)
        figures[f"{name}_resident_mib"] = most
        figures[f"{name}_cpu_percent"] = cpu
        process.terminate()
        process.wait(10)
        process.stderr.close()


def _scrape() -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    connection.request("GET", "/metrics")
    connection.getresponse().read()
    connection.close()
