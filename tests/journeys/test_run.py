"""`manage.py run`: comes up, revives what is killed, ends cleanly, keeps its data."""

import os
import signal
import time
from pathlib import Path

import httpx
import pytest

from governance.plumbing.embedded import Postgres, Valkey
from governance.plumbing.embedded.process import alive
from tests.journeys.living import living, wait

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("tidy_servers"),
]


def test_the_living_system(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with living(data_dir, demo=False) as system:
        assert httpx.get(f"{system.address}/readyz").status_code == 200
        assert httpx.get(f"{system.address}/accounts/login/").status_code == 200

        second = httpx.URL(system.address).port
        with pytest.raises(AssertionError, match=f"already running from {data_dir}: http://"):
            system.manage("run", PORT=str(second))

        worker = next(pid for pid, line in system.children().items() if " worker " in line)
        os.kill(worker, signal.SIGKILL)
        wait(lambda: "worker ended with status -9" in system.output.read_text(), 10)
        before = system.log("worker").count("heartbeat")
        wait(lambda: system.log("worker").count("heartbeat") > before + 2, 60)

        assert system.stop() == 0
    assert "stopping" in system.output.read_text()
    assert not Postgres(data_dir).present()
    assert not Valkey(data_dir).present()
    with pytest.raises(httpx.ConnectError):
        httpx.get(system.address)

    started = time.monotonic()
    with living(data_dir, demo=False):
        assert time.monotonic() - started < 30, "15 s are promised for a machine with time"


def test_a_killed_run_leaves_nothing_that_hinders_the_next(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with living(data_dir, demo=False) as system:
        programs = [pid for pid, line in system.children().items() if " -m " in line]
        system.process.kill()
        system.process.wait()
        for pid in programs:
            wait(lambda pid=pid: not alive(pid, "python"), 30)
    with living(data_dir, demo=False) as again:
        assert again.stop() == 0
    assert not Postgres(data_dir).present()
