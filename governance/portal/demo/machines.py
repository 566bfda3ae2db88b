"""Nodes of the demonstration: enrolled, their history stored through the one ingest path."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from governance.kernel.policy import Actor
from governance.portal.demo import collectors, series
from governance.portal.demo.fleet import MACHINES, Machine
from governance.telemetry import services as telemetry
from governance.telemetry.domain.page import check_page

HISTORY_DAYS = 46
AGENT = "demo-{name}"
"""The collectors' identity, the same in the history as in what they send themselves."""


def minute_of(now: datetime) -> int:
    return int(now.timestamp()) // 60


def enrol(actor: Actor, folder: Path, web_port: int, now: datetime) -> dict[str, int]:
    """Enrol the machines and leave their collectors identity and token; node ids by name."""
    ids = {}
    for machine in MACHINES:
        enrolment = telemetry.enrol_node(
            actor=actor,
            name=machine.name,
            mode="pull" if machine.live else "push",
            address=f"http://127.0.0.1:{web_port + machine.port_offset}" if machine.live else "",
            interval_seconds=collectors.PULL_SECONDS,
            labels={"simulated": "true"},
            now=now,
        )
        ids[machine.name] = enrolment.node_id
        if machine.live:
            home = folder / machine.name
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            (home / "agent-id").write_text(AGENT.format(name=machine.name) + "\n")
            collectors.keep_token(folder, machine, enrolment.token)
    return ids


def store(machine: Machine, node_id: int, first: int, last: int, start: int, now: datetime) -> int:
    """Ingest minutes first..last-1 of the machine; returns the rows stored."""
    stored = 0
    for document in series.pages(machine, first, last, start=start):
        document |= {"agent": AGENT.format(name=machine.name), "now": now.isoformat()}
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


def go_on(since: dict[str, int], nodes: dict[str, int], now: datetime) -> None:
    """What happened while the demonstration was stopped, from the last stored minute on."""
    last = minute_of(now)
    for machine in MACHINES:
        if machine.live and machine.name in since and since[machine.name] + 1 < last:
            store(machine, nodes[machine.name], since[machine.name] + 1, last, last, now)
