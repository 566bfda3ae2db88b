"""The supervisor revives, gives up with a reason, and leaves nothing behind."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from governance.plumbing.embedded.process import alive, wait_for
from governance.plumbing.supervisor import Fallen, Program, Supervisor


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, said: list[str]) -> Supervisor:
    return Supervisor(cwd=tmp_path, logs=tmp_path / "logs", say=said.append)


def python(name: str, code: str, **options: float) -> Program:
    return Program(name, [sys.executable, "-c", code], **options)


def pid_of(file: Path) -> int:
    assert wait_for(lambda: file.exists() and file.read_text().strip().isdigit(), 10)
    return int(file.read_text())


LIVING = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"


def test_a_killed_program_comes_back(
    supervisor: Supervisor, tmp_path: Path, said: list[str]
) -> None:
    supervisor.start(python("worker", LIVING))
    first = pid_of(tmp_path / "pid")
    os.kill(first, signal.SIGKILL)
    assert supervisor.wait_until(
        lambda: (tmp_path / "pid").read_text() not in {"", str(first)}, seconds=10
    )
    assert said == ["worker ended with status -9; starting it again"]
    second = pid_of(tmp_path / "pid")
    supervisor.stop()
    assert not alive(second, "python")


def test_one_that_never_stays_up_is_named(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(python("beat", "print('no broker'); raise SystemExit(3)"))
    with pytest.raises(Fallen, match=r"beat does not stay up: see .*/logs/beat\.log"):
        supervisor.wait_until(lambda: False, seconds=30)
    assert (tmp_path / "logs" / "beat.log").read_text() == "no broker\n" * 5


def test_a_deaf_program_is_killed(supervisor: Supervisor, tmp_path: Path, said: list[str]) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + LIVING
    supervisor.start(python("web", deaf, patience=0.5))
    pid = pid_of(tmp_path / "pid")
    started = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - started < 5
    assert not alive(pid, "python")
    assert said == ["web did not stop within 0.5 s: killed"]


def test_all_may_leave_in_their_own_way(supervisor: Supervisor, tmp_path: Path) -> None:
    leaving = (
        "import signal, sys, time, pathlib\n"
        "def leave(*_):\n"
        "    with open('order', 'a') as file: file.write('{name} ')\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, leave); pathlib.Path('{name}').touch(); time.sleep(60)"
    )
    for name in ("web", "worker", "beat"):
        supervisor.start(python(name, leaving.format(name=name)))
        assert supervisor.wait_until((tmp_path / name).exists, seconds=10)
    supervisor.stop()
    assert sorted((tmp_path / "order").read_text().split()) == ["beat", "web", "worker"]
