"""The demonstration's collectors: the real program, playing seeded series over real HTTP."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.plumbing.supervisor import Program, free_port
from governance.portal.demo.fleet import MACHINES, Machine
from governance.portal.demo.series import write_replay
from governance.telemetry import services
from governance.telemetry.queries.nodes import node_named

PULL_SECONDS = 20


@dataclass(frozen=True)
class Place:
    """Where collectors listen, and by which name the workers reach them; the ports used lie
    above `port`."""

    host: str
    bind: str
    port: int


def programs(folder: Path, place: Place) -> Iterator[Program]:
    """One collector for each live machine, with its node enrolled where it will be found.

    `folder` keeps series, spools and tokens.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for machine in MACHINES:
        if machine.live:
            port = free_port(place.port + machine.port_offset, on=place.bind)
            yield _program(machine, folder, place, port)


def _program(machine: Machine, folder: Path, place: Place, port: int) -> Program:
    token, series = token_file(folder, machine), folder / f"{machine.name}.jsonl"
    _enrol(machine, f"http://{place.host}:{port}", token)
    write_replay(machine, series, first=int(clock.now().timestamp() // 60))
    return Program(
        f"collector-{machine.name}",
        [
            *(sys.executable, "-m", "collector", "run", "--source", f"replay:{series}"),
            *("--loop", "--shift-to-now", "start", "--node", machine.name),
            *("--bind", f"{place.bind}:{port}", "--token-file", str(token)),
            *("--data-dir", str(folder / machine.name)),
        ],
    )


def _enrol(machine: Machine, address: str, token: Path) -> None:
    """The node exists, is pulled at `address`, and `token` holds a token that is good."""
    now, node = clock.now(), node_named(machine.name)
    if node is None:
        enrolment = services.enrol_node(
            actor=SYSTEM,
            name=machine.name,
            address=address,
            interval_seconds=PULL_SECONDS,
            labels={"simulated": "true"},
            now=now,
        )
        _keep(token, enrolment.token)
        return
    if node.address != address:
        services.change_node(
            actor=SYSTEM,
            node_id=node.id,
            mode=node.mode,
            address=address,
            interval_seconds=node.interval_seconds,
            silent_after_minutes=node.silent_after_minutes,
            labels=node.labels,
            now=now,
        )
    if not token.exists():
        _keep(token, services.rotate_token(actor=SYSTEM, node_id=node.id, now=now).token)


def token_file(folder: Path, machine: Machine) -> Path:
    """Where the collector reads its token."""
    return folder / f"{machine.name}.token"


def keep_token(folder: Path, machine: Machine, token: str) -> None:
    """Write the token where the collector reads it, for its owner only."""
    _keep(token_file(folder, machine), token)


def _keep(file: Path, token: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(token)
