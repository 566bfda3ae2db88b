"""kill -9 again and again while a client pulls: no acknowledged row is lost, none is told twice."""

from __future__ import annotations

import http.client
import random
import time
from pathlib import Path

import pytest

from tests.collector.running import Running

SPEED = 60  # a minute of the agent's clock passes in a second


class Client:
    """Pulls as a server would: the cursor moves only with the rows that it stored."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self.rows: dict[tuple[str, int], tuple[int, int]] = {}
        self.seqs: list[int] = []
        self.gaps: set[tuple[str, str, str]] = set()
        self.clashes: list[tuple] = []

    def pull(self, agent: Running) -> None:
        page = agent.page(self.cursor, limit=7)
        columns = page["columns"]
        for seq, card, minute, samples in zip(
            *(columns[name] for name in ("seq", "card", "minute", "samples")), strict=True
        ):
            key = (page["cards"][card]["uuid"], minute)
            if key in self.rows:
                self.clashes.append((key, self.rows[key], (seq, samples)))
            self.rows[key] = (seq, samples)
            self.seqs.append(seq)
        self.gaps |= {(gap["from"], gap["to"], gap["reason"]) for gap in page["gaps"]}
        self.cursor = page["next"]


def _rounds(stub, folder: Path, rounds: int, seed: int) -> tuple[Client, int, str]:
    stub.tell("minspan 0")
    rng = random.Random(seed)
    client, kills, epochs, origin = Client(), 0, set(), time.time()
    for _ in range(rounds):
        agent = Running(folder, stub.environment(), speed=SPEED, origin=origin)
        end = time.monotonic() + rng.uniform(0.6, 2.2)
        while time.monotonic() < end:
            try:
                client.pull(agent)
            except (OSError, http.client.HTTPException):
                break
            epochs.add(client.cursor.split(":")[0])
            time.sleep(rng.uniform(0.0, 0.05))
        agent.kill()
        kills += 1
    agent = Running(folder, stub.environment(), speed=SPEED, origin=origin)
    time.sleep(2.5)
    for _ in range(200):
        before = client.cursor
        client.pull(agent)
        if client.cursor == before:
            break
    log = agent.log.read_text()
    assert agent.stop() == 0
    assert len(epochs) == 1
    return client, kills, log


def _check(client: Client, log: str) -> None:
    assert "Traceback" not in log
    assert "set aside" not in log
    assert client.seqs == sorted(set(client.seqs))  # in order, none twice
    cards = {card for card, _ in client.rows}
    assert len(cards) == 8
    # a minute is the same for all cards: what one has, all have
    minutes = {card: sorted(m for c, m in client.rows if c == card) for card in cards}
    assert len({tuple(found) for found in minutes.values()}) == 1
    # the readings of a minute are folded together, whatever was killed in it: never two rows
    assert client.clashes == []


def test_a_few_kills(stub, tmp_path: Path) -> None:
    client, _, log = _rounds(stub, tmp_path / "data", rounds=2, seed=1)
    _check(client, log)


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [2, 3])
def test_many_kills(stub, tmp_path: Path, seed: int) -> None:
    client, kills, log = _rounds(stub, tmp_path / "data", rounds=40, seed=seed)
    _check(client, log)
    assert kills == 40
    assert len(client.rows) > 8 * 20


@pytest.mark.proof
def test_a_torn_write_ahead_log_is_survived(stub, tmp_path: Path) -> None:
    """The tail of the log cut off, as after a power cut: what was checkpointed stays."""
    folder = tmp_path / "data"
    stub.tell("minspan 0")
    agent = Running(folder, stub.environment(), speed=SPEED)
    client = Client()
    time.sleep(3)
    client.pull(agent)
    agent.kill()
    log = folder / "spool.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-1000])
    agent = Running(folder, stub.environment(), speed=SPEED)
    time.sleep(2)
    for _ in range(50):
        client.pull(agent)
    assert agent.stop() == 0
    assert client.rows
