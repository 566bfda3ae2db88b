"""Nodes of the demonstration: enrolled, their history stored through the one ingest path, and
recordings that the collectors go on playing."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from governance.kernel.policy import Actor
from governance.portal.demo import series
from governance.portal.demo.fleet import MACHINES, Machine
from governance.telemetry import services as telemetry
from governance.telemetry.domain.page import check_page

HISTORY_DAYS = 62
FIRST_PORT = 1465
"""The collectors' ports follow the web server's: PORT + 1465 + 1, + 2."""

AGENT = "demo-{name}"
CONFIG = """\
source = "replay:{replay}"
data_dir = "{folder}"
bind = "127.0.0.1:{port}"
token_file = "{token}"
shift_to_now = "start"
loop = true
fsync = "off"
"""


def minute_of(now: datetime) -> int:
    return int(now.timestamp()) // 60


def enrol(actor: Actor, folder: Path, web_port: int, now: datetime) -> dict[str, int]:
    """Enrol the machines, write what their collectors need; node ids by name."""
    ids = {}
    for machine in MACHINES:
        port = web_port + FIRST_PORT + machine.port_offset
        enrolment = telemetry.enrol_node(
            actor=actor,
            name=machine.name,
            address=f"http://127.0.0.1:{port}",
            labels={"simulated": "yes", "since": str(minute_of(now))},
            now=now,
        )
        ids[machine.name] = enrolment.node_id
        if machine.live:
            settle(machine, folder, port, enrolment.token)
    return ids


def settle(machine: Machine, folder: Path, port: int, token: str) -> None:
    """The collector's folder: its identity, its token and its options."""
    home = folder / machine.name
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "agent-id").write_text(AGENT.format(name=machine.name) + "\n")
    secret = home / "token"
    secret.touch(mode=0o600)
    secret.write_text(token)
    options = CONFIG.format(replay=replay_of(machine, folder), folder=home, port=port, token=secret)
    config_of(machine, folder).write_text(options)


def replay_of(machine: Machine, folder: Path) -> Path:
    return folder / f"{machine.name}.jsonl"


def config_of(machine: Machine, folder: Path) -> Path:
    return folder / f"collector-{machine.name}.toml"


def store(machine: Machine, node_id: int, first: int, last: int, start: int, now: datetime) -> int:
    """Ingest minutes first..last-1 of the machine; returns the rows stored."""
    stored = 0
    for document in series.pages(machine, first, last, start=start):
        document["agent"] = AGENT.format(name=machine.name)
        page = check_page(document, now_minute=minute_of(now))
        stored += telemetry.ingest_page(node_id=node_id, page=page, now=now).stored
    return stored


def announce(ids: dict[str, int], now: datetime) -> None:
    """The first minute of each machine: from it on the platform knows its cards."""
    last = minute_of(now)
    first = last - HISTORY_DAYS * series.DAY
    for machine in MACHINES:
        store(machine, ids[machine.name], first, first + 1, last, now)


def remember(ids: dict[str, int], now: datetime) -> Iterator[tuple[str, int]]:
    """Store the history of each machine; yields name and rows. Then roll it up."""
    last = minute_of(now)
    first = last - HISTORY_DAYS * series.DAY + 1
    for machine in MACHINES:
        until = last if machine.live else last - 2 * series.DAY
        yield machine.name, store(machine, ids[machine.name], first, until, last, now)
    telemetry.roll_up(now=now + timedelta(minutes=2))


def go_on(folder: Path, since: dict[str, int], nodes: dict[str, int], now: datetime) -> None:
    """What happened while the demonstration was stopped, and a recording for the next day.

    `since` maps a machine's name to its last stored minute, `nodes` to its node.
    """
    last = minute_of(now)
    for machine in MACHINES:
        if not machine.live:
            continue
        if machine.name in since and since[machine.name] + 1 < last:
            store(machine, nodes[machine.name], since[machine.name] + 1, last, last, now)
        series.write_replay(machine, replay_of(machine, folder), first=last)
