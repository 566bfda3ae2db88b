"""The demonstration's collectors: nodes enrolled where the collectors listen, tokens that fit."""

from pathlib import Path

import pytest

from governance.plumbing import clock
from governance.portal.demo import collectors
from governance.portal.demo.fleet import MACHINES
from governance.telemetry.queries.nodes import node_named
from governance.telemetry.services import node_for_token

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _short_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectors, "write_replay", lambda machine, path, **_: path.touch())


def place(port: int) -> collectors.Place:
    return collectors.Place("127.0.0.1", "127.0.0.1", port)


def test_each_live_machine_has_a_collector_that_its_node_reaches(tmp_path: Path) -> None:
    for port in (18000, 18100):
        programs = list(collectors.programs(tmp_path, place(port)))
        live = [machine for machine in MACHINES if machine.live]
        assert len(programs) == len(live) == 2
        for program, machine in zip(programs, live, strict=True):
            words = list(program.command)
            node = node_named(machine.name)
            assert node is not None
            assert node.address == f"http://{words[words.index('--bind') + 1]}"
            token = Path(words[words.index("--token-file") + 1])
            assert token.stat().st_mode & 0o777 == 0o600
            assert node_for_token(token.read_text(), clock.now()) == node


def test_a_lost_token_is_replaced(tmp_path: Path) -> None:
    list(collectors.programs(tmp_path, place(18200)))
    for file in tmp_path.glob("*.token"):
        file.unlink()
    list(collectors.programs(tmp_path, place(18200)))
    for machine in MACHINES:
        if machine.live:
            token = collectors.token_file(tmp_path, machine).read_text()
            assert node_for_token(token, clock.now()) == node_named(machine.name)
