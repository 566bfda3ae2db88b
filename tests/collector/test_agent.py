"""The agent as a whole: its own process, the stub library, a client that pulls."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.agent import Agent
from collector.model import Card, Reading
from collector.settings import load
from collector.sources import Unavailable
from collector.spool import Spool
from tests.collector.conftest import run_collector, uuid
from tests.collector.running import Running


@pytest.fixture
def agent(stub, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts agents on the stub and stops them."""
    started: list[Running] = []

    def start(*arguments: str, folder: str = "data", speed: float | None = None) -> Running:
        started.append(
            Running(
                tmp_path / folder, stub.environment(), "--interval", "1", *arguments, speed=speed
            )
        )
        return started[-1]

    yield start
    for running in started:
        running.stop()


def metric(text: str, name: str) -> float:
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE).group(1))


def test_a_minute_arrives_and_the_agent_stops_cleanly(agent, stub) -> None:
    stub.tell("minspan 1")
    running = agent(speed=60)
    first = running.until(lambda: (p := running.page())["columns"]["seq"] and p)
    assert {card["uuid"] for card in first["cards"]} == {uuid(n) for n in range(8)}
    page = running.until(lambda: (p := running.page(first["next"]))["columns"]["seq"] and p)
    row = page["columns"]["card"].index(2)
    assert page["columns"]["bandwidth_mean"][row] == pytest.approx(0.22, abs=0.01)
    assert min(page["columns"]["samples"]) >= 40  # a fast clock on a busy machine drops a few
    assert max(page["columns"]["samples"]) <= 61
    assert running.get("/readyz")[0] == 200
    text = running.get("/metrics")[2].decode()
    assert (
        f'gpu_dram_bandwidth_ratio{{source="nvml_gpm",fidelity="dram_bw",uuid="{uuid(0)}"}}' in text
    )
    assert running.stop() == 0
    assert "stopped" in running.log.read_text()
    assert "Traceback" not in running.log.read_text()


def test_metrics_follow_the_prometheus_rules(agent) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    running = agent()
    running.until(lambda: b"gpu_power_watts" in running.get("/metrics")[2])
    families = {
        family.name: family
        for family in parser.text_string_to_metric_families(running.get("/metrics")[2].decode())
    }
    for name in families:
        assert re.search(
            r"_(ratio|bytes|watts|celsius|hertz|seconds|bytes_per_second|info|up|ready|errors|ticks"
            r"|ticks_missed|rows|sequence|requests)$",
            name,
        ), name
        assert "memory_utilization" not in name
    assert {sample.labels["uuid"] for sample in families["gpu_power_watts"].samples} == {
        uuid(number) for number in range(8)
    }
    assert set(families["gpu_power_watts"].samples[0].labels) == {"uuid"}
    assert families["gpu_power_watts"].samples[0].value == 500


def test_only_who_has_the_token_is_answered(agent) -> None:
    running = agent()
    for path in ("/v1/samples", "/metrics"):
        assert running.get(path, token=None)[0] == 401
        assert running.get(path, token="the-tokem")[0] == 401
        assert running.get(path, token="")[0] == 401
        assert running.get(path, token=None, Authorization="Basic the-token")[0] == 401
        assert running.get(path)[0] == 200
    assert running.get("/livez", token=None)[0] == 200
    assert running.get("/nothing", token=None)[0] == 404


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("after=nonsense", "bad_cursor"),
        ("limit=0", "bad_limit"),
        ("limit=-1", "bad_limit"),
        ("limit=many", "bad_limit"),
        ("limit=%EF%BC%91", "bad_limit"),
    ],
)
def test_bad_queries_are_refused_with_a_code(agent, query: str, code: str) -> None:
    status, _, body = agent().get(f"/v1/samples?{query}")
    assert (status, json.loads(body)["code"]) == (400, code)


def test_a_huge_limit_is_capped(agent) -> None:
    running = agent()
    for limit in ("9999999", "9" * 19):
        assert running.get(f"/v1/samples?limit={limit}")[0] == 200
    assert running.get(f"/v1/samples?limit={'9' * 20}")[0] == 400


def test_pages_are_compressed_only_where_asked_for(agent) -> None:
    running = agent()
    _, headers, body = running.get("/v1/samples", **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["format"] == 1
    _, headers, body = running.get("/v1/samples", **{"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in headers
    assert json.loads(body)["format"] == 1


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        (b"POST /v1/samples HTTP/1.1\r\n\r\n", b"405"),
        (b"rubbish\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.1\r\nbroken\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.1\r\nX: " + b"a" * 20000 + b"\r\n\r\n", b"431"),
        (b"GET /v1/samples?" + b"a=1&" * 30 + b" HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /livez HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_odd_requests_get_an_answer_and_nothing_breaks(agent, request_text, status) -> None:
    running = agent()
    with socket.create_connection(("127.0.0.1", running.port), timeout=5) as connection:
        connection.sendall(request_text)
        assert connection.recv(100).split()[1] == status
    assert running.get("/livez")[0] == 200


def test_a_flood_is_slowed_down(agent) -> None:
    running = agent("--rate", "5")
    answers = [running.get("/v1/samples")[0] for _ in range(30)]
    assert 429 in answers
    assert answers[0] == 200
    assert running.get("/livez")[0] == 200


def test_a_hung_driver_is_seen_and_the_spool_still_serves(agent, stub) -> None:
    running = agent("--watchdog", "1")
    running.until(lambda: running.get("/readyz")[0] == 200)
    stub.tell("hang * 1500")
    running.until(lambda: running.get("/readyz")[0] == 503)
    assert b"hung" in running.get("/readyz")[2]
    assert running.page()["health"]["driver"]["state"] == "hung"
    other = agent(folder="other")
    other.until(lambda: other.get("/readyz")[0] == 503, patience=25)
    assert other.stop() == 0  # a hung call does not keep the agent from stopping
    stub.tell("")
    running.until(lambda: running.get("/readyz")[0] == 200, patience=25)


def test_an_agent_without_a_driver_stays_up_and_says_why(agent, stub) -> None:
    stub.tell("init 18")
    running = agent(speed=30)
    running.until(lambda: "driver" in running.page()["health"])
    page = running.page()
    assert page["health"]["driver"]["state"] == "nvml_init:lib_rm_mismatch"
    assert page["columns"]["seq"] == []
    assert running.get("/readyz")[0] == 503
    assert running.get("/livez")[0] == 200
    stub.tell("")
    assert running.until(lambda: running.page()["columns"]["samples"], patience=25)


def test_fifty_parallel_pulls_do_not_disturb_the_readings(agent) -> None:
    running = agent("--rate", "10000")
    running.until(lambda: running.get("/readyz")[0] == 200)
    before = running.get("/metrics")[2].decode()
    statuses: list[int] = []

    def pull() -> None:
        statuses.extend(running.get("/v1/samples")[0] for _ in range(4))

    started = time.monotonic()
    threads = [threading.Thread(target=pull) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(max(0.0, 4.0 - (time.monotonic() - started)))
    after = running.get("/metrics")[2].decode()
    elapsed = time.monotonic() - started
    assert set(statuses) == {200}
    ticks = metric(after, "collector_ticks_total") - metric(before, "collector_ticks_total")
    assert abs(ticks - elapsed) <= 1.5


def test_a_second_agent_on_the_same_folder_is_refused(agent, tmp_path: Path, stub) -> None:
    agent()
    second = run_collector(
        "run", "--data-dir", str(tmp_path / "data"), "--bind", "none", env=stub.environment()
    )
    assert second.returncode == 1
    assert second.stderr.splitlines() == [
        f"collector: --data-dir: {tmp_path / 'data'} is in use by another agent"
    ]


def test_cards_that_vanish_and_cards_that_are_lost(agent, stub) -> None:
    running = agent(speed=40)
    states = lambda: {card["uuid"]: card["state"] for card in running.page()["cards"]}  # noqa: E731
    running.until(lambda: len(states()) == 8)
    stub.tell("count 7", "card 2 15", "handle 2 15")
    running.until(lambda: states()[uuid(2)] == "lost")
    running.until(lambda: states()[uuid(7)] == "absent")
    assert running.get("/readyz")[0] == 200
    stub.tell("")
    running.until(lambda: set(states().values()) == {"ok"}, patience=25)


# the sampler, driven tick by tick


class Scripted:
    """A source that does what the test says."""

    def __init__(self) -> None:
        self.say: Callable[[float], list] = lambda at: []

    def poll(self, at: float) -> list[tuple[Card, Reading]]:
        return self.say(at)

    def close(self) -> None:
        pass


@pytest.fixture
def sampler(spool: Spool, tmp_path: Path) -> Agent:
    settings = load({"data_dir": spool.folder}, None, {})
    return Agent(settings, spool, Scripted())


MINUTE = 1_800_000_000 // 60 * 60


def pages(spool: Spool) -> dict:
    from collector.page import build

    return json.loads(build(spool).body)


def test_an_outage_is_a_gap_and_no_figures(sampler: Agent, spool: Spool, card: Card) -> None:
    def fails(at: float) -> list:
        raise Unavailable("nvml:unknown_error")

    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    for second in range(20):
        sampler._tick(MINUTE + second)
    sampler.source.say = fails
    for second in range(20, 50):
        sampler._tick(MINUTE + second)
    assert sampler.latest == {}
    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    for second in range(50, 70):
        sampler._tick(MINUTE + second)
    answer = pages(spool)
    assert answer["columns"]["samples"] == [30]
    [gap] = answer["gaps"]
    assert gap == {
        "from": "2027-01-15T08:00:19Z",
        "to": "2027-01-15T08:00:50Z",
        "reason": "nvml:unknown_error",
    }


def test_a_card_that_is_gone_is_not_shown(sampler: Agent, card: Card) -> None:
    other = Card("nvidia", "GPU-other")
    both = [(each, Reading("nvml_gpm", bandwidth=0.5)) for each in (card, other)]
    sampler.source.say = lambda at: both
    sampler._tick(MINUTE)
    sampler.source.say = lambda at: both[:1]
    sampler._tick(MINUTE + 1)
    assert list(sampler.latest) == [card.key]


def test_old_readings_are_not_shown_as_new(sampler: Agent, spool: Spool, card: Card) -> None:
    from collector.exposition import render

    spool.clock = lambda: MINUTE + 1.0
    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    sampler._tick(MINUTE)
    assert "gpu_dram_bandwidth_ratio" in render(sampler, {})
    spool.clock = lambda: MINUTE + 60.0
    text = render(sampler, {})
    assert "gpu_dram_bandwidth_ratio" not in text
    assert f"collector_last_sample_timestamp_seconds {MINUTE}" in text


def test_downtime_is_recorded_at_the_next_start(sampler: Agent, spool: Spool, card: Card) -> None:
    spool.store([(MINUTE, [(card, Reading("nvml_gpm", bandwidth=0.5))])])
    spool.clock = lambda: MINUTE + 600.0
    sampler._note_downtime()
    answer = pages(spool)
    assert answer["columns"]["samples"] == [1]
    assert [gap["reason"] for gap in answer["gaps"]] == ["agent_down"]


def test_clock_steps_are_recorded(sampler: Agent, spool: Spool, card: Card, monkeypatch) -> None:
    sampler.settings.interval = 0.05
    shift = 0.0
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + shift)
    spool.clock = lambda: real() + shift
    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    sampler.start()
    time.sleep(0.3)
    shift = -3600.0
    time.sleep(0.3)
    sampler.stop.set()
    sampler._thread.join(5)
    reasons = [gap["reason"] for gap in pages(spool)["gaps"]]
    assert reasons == ["clock_step:-3600.0s"]
    assert len(pages(spool)["columns"]["seq"]) >= 1  # what lies ahead now is not held back


def test_a_full_disk_costs_ticks_not_the_agent(sampler: Agent, spool: Spool, card: Card) -> None:
    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    pages_now = spool._db.execute("PRAGMA page_count").fetchone()[0]
    spool._db.execute(f"PRAGMA max_page_count={pages_now}")
    for second in range(400):
        sampler._tick(MINUTE + second / 10)
    assert sampler.health["spool"]["state"] == "cannot_write"
    spool._db.execute("PRAGMA max_page_count=100000")
    sampler._tick(MINUTE + 55)
    assert sampler.health["spool"]["state"] == "ok"


def test_a_store_that_breaks_while_running_is_replaced(
    sampler: Agent, spool: Spool, card: Card
) -> None:
    sampler.settings.interval = 0.05
    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    epoch = spool.epoch
    sampler.start()
    time.sleep(0.3)
    with spool._write_lock:
        spool._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with open(spool.path, "r+b") as file:
            file.seek(0)
            file.write(b"\xff" * 65536)
        spool._db.execute("PRAGMA shrink_memory")
    deadline = time.monotonic() + 8
    while spool.epoch == epoch and time.monotonic() < deadline:
        time.sleep(0.05)
    sampler.stop.set()
    sampler._thread.join(5)
    assert spool.epoch != epoch
    assert "store_corrupt" in {gap["reason"] for gap in pages(spool)["gaps"]}


def test_a_sampler_that_fails_goes_on(sampler: Agent, spool: Spool, card: Card) -> None:
    sampler.settings.interval = 0.05
    calls = []

    def fails_once(at: float) -> list:
        calls.append(at)
        if len(calls) == 2:
            raise RuntimeError("a fault nobody thought of")
        return [(card, Reading("nvml_gpm", bandwidth=0.5))]

    sampler.source.say = fails_once
    sampler.start()
    deadline = time.monotonic() + 5
    while len(calls) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    sampler.stop.set()
    sampler._thread.join(5)
    assert len(calls) >= 5


def test_a_dead_sampler_is_not_ready(sampler: Agent, spool: Spool, card: Card) -> None:
    sampler.source.say = lambda at: [(card, Reading("nvml_gpm", bandwidth=0.5))]
    sampler._tick(MINUTE)
    assert sampler.ready() == (True, "ok")
    sampler._last_turn -= 60
    ready, why = sampler.ready()
    assert not ready
    assert "no reading since" in why


def test_a_page_that_cannot_be_read_does_not_hold_its_reader_up(
    sampler: Agent, spool: Spool, card: Card
) -> None:
    from collector.routes import Routes
    from collector.web import Request

    spool.store([(MINUTE + 60 * n, [(card, Reading("nvml_gpm", power_w=1.0))]) for n in range(500)])
    spool.fold_until(None)
    spool._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = spool.bytes_used()
    with open(spool.path, "r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * (size // 3))
    spool._reader.execute("PRAGMA shrink_memory")
    ask = Request("GET", "/v1/samples", {}, {"authorization": "Bearer t"}, "x")
    routes = Routes(sampler, "t")
    epoch = spool.epoch
    assert routes(ask).status == 503
    answer = routes(ask)
    assert answer.status == 200
    assert spool.epoch != epoch
    assert "store_corrupt" in answer.body.decode()


def test_a_reading_that_rotted_costs_only_itself(spool: Spool, card: Card) -> None:
    spool.store([(MINUTE + n, [(card, Reading("nvml_gpm", bandwidth=0.5))]) for n in range(10)])
    spool._db.execute("UPDATE tick SET body='[[1,' WHERE id=4")
    spool._db.execute("""UPDATE tick SET body='[[1,["from_the_future",0.5]]]' WHERE id=5""")
    spool.fold_until(None)
    assert pages(spool)["columns"]["samples"] == [9]
    assert pages(spool)["columns"]["source"] == ["nvml_gpm"]
