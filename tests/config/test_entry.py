"""Commands bring the servers they need, and only those."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from governance.config import env
from governance.config.entry import needs_servers
from governance.plumbing.embedded import Postgres, Valkey, ensure_servers
from governance.plumbing.supervisor import Occupied, reserve

pytestmark = [pytest.mark.usefixtures("tidy_servers"), pytest.mark.timeout(180)]


def manage(data_dir: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    inherited = {
        key: value
        for key, value in os.environ.items()
        if key not in {"DATABASE_URL", "CELERY_BROKER_URL", "DATA_DIR", "PORT"}
    }
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=env.ROOT,
        env={**inherited, "DATA_DIR": str(data_dir), **variables},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("", False),
        ("--version", False),
        ("predict in.csv --out out.csv", False),
        ("preview_charges f.json --json", False),
        ("compare_plans f.json", False),
        ("messages compile", False),
        ("match --json --offers o.csv", False),
        ("match --json --offers=o.csv", False),
        ("match --trace t.jsonl", False),
        ("match --json", True),
        ("match --json --help", False),
        ("report cost --from 2026-11-01 --to 2026-11-30", True),
        ("import_prices f.csv --format native --vendor v", True),
        ("run", True),
        ("backup f", True),
    ],
)
def test_which_commands_need_a_server(line: str, needed: bool) -> None:
    assert needs_servers(line.split()) is needed


def test_a_command_without_need_starts_nothing(tmp_path: Path) -> None:
    done = manage(tmp_path, "messages", "check")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "postgres").exists()
    assert not (tmp_path / "valkey").exists()


def test_a_command_starts_migrates_and_stops_or_uses_what_runs(tmp_path: Path) -> None:
    done = manage(tmp_path, "verify_audit")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "audit trail: every event is what was sealed\n"
    assert not Postgres(tmp_path).present()
    assert not Valkey(tmp_path).present()
    with ensure_servers(tmp_path):
        assert manage(tmp_path, "verify_audit").returncode == 0
        assert Postgres(tmp_path).running()
        assert Valkey(tmp_path).running()


def test_given_servers_are_used_instead(tmp_path: Path) -> None:
    with ensure_servers(tmp_path / "other") as environment:
        done = manage(tmp_path / "own", "migrate", "--check", **environment)
        assert done.returncode == 1, "the given database has no tables yet"
        assert not (tmp_path / "own" / "postgres").exists()


def test_a_wrong_setting_is_one_line(tmp_path: Path) -> None:
    done = manage(tmp_path, "verify_audit", PORT="http")
    assert done.returncode == 1
    assert re.fullmatch(r"Wrong setting\. PORT: .*\n", done.stderr)


def test_a_taken_port_is_one_line_and_starts_nothing(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = manage(tmp_path, "run", PORT=str(port))
    assert done.returncode == 1
    assert done.stderr == f"port {port} is in use; choose another: PORT={port + 1} make run\n"
    assert not (tmp_path / "postgres").exists()


def test_a_second_start_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with reserve(tmp_path, port):
        done = manage(tmp_path, "run", PORT="8000")
        assert done.returncode == 1
        assert done.stderr == f"already running from {tmp_path}: http://127.0.0.1:{port}/\n"
        with pytest.raises(Occupied), reserve(tmp_path, port):
            pass
    with reserve(tmp_path, port):
        pass
