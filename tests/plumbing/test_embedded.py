"""The embedded servers: private, patient with crashes, and gone when nobody needs them."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psycopg2
import pytest

from governance.plumbing.embedded import Postgres, ServerError, Valkey, ensure_servers
from governance.plumbing.embedded import process as process_module

pytestmark = pytest.mark.usefixtures("tidy_servers")
NOBODY = 65534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def postgres(folder: Path) -> Postgres:
    return Postgres(folder, durable=False, tied=True)


def scalar(url: str, query: str) -> object:
    connection = psycopg2.connect(url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone()
            return row and row[0]
    finally:
        connection.close()


def as_nobody(action: str, *arguments: str) -> str:
    """What a Python expression says when another local user evaluates it."""
    program = (
        "import os, sys, socket; os.setgroups([]); "
        f"os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})\n"
        f"try:\n    {action}\n    print('done')\n"
        "except OSError as error:\n    print(type(error).__name__)"
    )
    result = subprocess.run(
        [sys.executable, "-I", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def test_a_cluster_is_made_served_and_kept(data_dir: Path) -> None:
    server = postgres(data_dir)
    assert server.start() == server.url == server.start()
    assert str(scalar(server.url, "show server_version")).startswith("18.")
    assert scalar(server.url, "show server_encoding") == "UTF8"
    assert scalar(server.url, "show listen_addresses") == ""
    scalar(server.url, "create table kept as select 7 as n; select 1")
    server.stop()
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(server.url)
    with postgres(data_dir) as again:
        assert scalar(again.url, "select n from kept") == 7


def test_a_password_is_asked_for(data_dir: Path) -> None:
    with postgres(data_dir) as server:
        wrong = server.url.replace(server.settings["PASSWORD"], "guess")
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            psycopg2.connect(wrong)
        password = data_dir / "postgres.password"
        assert stat.S_IMODE(password.stat().st_mode) == 0o600
        assert stat.S_IMODE(server.socket_folder.stat().st_mode) == 0o700


def test_folders_above_are_left_alone(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    above = [closed, *closed.parents]

    def looks() -> list[tuple[int, int, int]]:
        return [(state.st_mode, state.st_uid, state.st_gid) for state in map(os.stat, above)]

    before = looks()
    with postgres(closed / "data"), Valkey(closed / "data", durable=False):
        pass
    assert looks() == before


@ROOT_ONLY
def test_another_user_cannot_connect(data_dir: Path) -> None:
    with postgres(data_dir) as server, Valkey(data_dir, durable=False, tied=True) as valkey:
        for folder in (data_dir, *data_dir.parents):
            if folder.owner() == "root" and folder.parent != folder and "pytest" in str(folder):
                folder.chmod(0o755)
        reach = "socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        for path in (server.socket_folder / ".s.PGSQL.5432", valkey.socket):
            assert path.exists()
            assert as_nobody(reach, str(path)) == "PermissionError"
        for path in (data_dir / "postgres.password", server.cluster / "PG_VERSION"):
            assert path.exists()
            assert as_nobody("open(sys.argv[1])", str(path)) == "PermissionError"


def test_the_server_is_nobody_special(data_dir: Path) -> None:
    with postgres(data_dir) as server:
        pid = int((server.cluster / "postmaster.pid").read_text().split()[0])
        status = Path(f"/proc/{pid}/status").read_text()
        effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
        assert int(effective.split()[1], 16) == 0


def test_a_crash_loses_nothing(data_dir: Path) -> None:
    server = Postgres(data_dir, tied=True)
    server.start()
    scalar(server.url, "create table kept as select 7 as n; select 1")
    os.kill(int((server.cluster / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    assert process_module.wait_for(lambda: not server.present(), 10)
    with Postgres(data_dir, tied=True) as again:
        assert scalar(again.url, "select n from kept") == 7


def test_a_foreign_process_with_the_old_number_does_not_hinder(data_dir: Path) -> None:
    with postgres(data_dir) as server:
        left = (server.cluster / "postmaster.pid").read_text().splitlines()
    (server.cluster / "postmaster.pid").write_text("\n".join([str(os.getpid()), *left[1:]]))
    assert not server.present()
    with postgres(data_dir) as again:
        assert scalar(again.url, "select 1") == 1


def test_an_interrupted_first_start_is_made_good(data_dir: Path) -> None:
    data_dir.mkdir()
    server = postgres(data_dir)
    half = server.home / "draft" / "cluster" / "half"
    half.parent.mkdir(parents=True)
    half.write_text("made")
    with server:
        assert scalar(server.url, "select 1") == 1
    assert not half.exists()


def test_a_start_that_fails_says_why_in_one_line(data_dir: Path) -> None:
    with postgres(data_dir) as server:
        pass
    (server.cluster / "global" / "pg_control").unlink()
    with pytest.raises(ServerError, match=r"^postgres did not start: .*pg_control.*\)$"):
        server.start()


def test_long_paths_get_a_short_private_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 30) / "data"
    with postgres(deep) as server, Valkey(deep, durable=False, tied=True) as valkey:
        assert scalar(server.url, "select 1") == 1
        assert valkey.running()
        first = server.socket_folder
        assert stat.S_IMODE(first.stat().st_mode) == 0o700
    with postgres(deep) as again:
        assert again.socket_folder == first
    first.rmdir()


def test_two_starts_at_once_make_one_server(data_dir: Path) -> None:
    servers = [Postgres(data_dir, durable=False) for _ in range(2)]
    started: list[str] = []
    threads = [
        threading.Thread(target=lambda server=server: started.append(server.start()))
        for server in servers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert started == [servers[0].url] * 2
    assert scalar(servers[0].url, "select 1") == 1


def test_the_last_one_out_stops_the_servers(data_dir: Path) -> None:
    server, valkey = Postgres(data_dir), Valkey(data_dir)
    with ensure_servers(data_dir):
        inner = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import sys; from governance.plumbing.embedded import ensure_servers\n"
                "with ensure_servers(sys.argv[1]): print('in', flush=True); input()",
                str(data_dir),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert inner.stdout is not None
        assert inner.stdout.readline() == "in\n"
    assert server.running(), "somebody still works with it"
    assert valkey.running()
    inner.communicate("\n", timeout=30)
    assert not server.present()
    assert not valkey.present()


def test_servers_end_with_a_tied_parent_that_is_killed(data_dir: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from governance.plumbing.embedded import Postgres\n"
            "Postgres(sys.argv[1], durable=False, tied=True).start(); print('up', flush=True)\n"
            "time.sleep(60)",
            str(data_dir),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "up\n"
    server = Postgres(data_dir)
    assert server.running()
    holder.kill()
    holder.communicate()
    assert process_module.wait_for(lambda: not server.present(), 10)


def test_valkey_keeps_what_it_was_told(data_dir: Path) -> None:
    with Valkey(data_dir, tied=True) as valkey:
        assert valkey._ask(b"SET mark 1") == b"+OK\r\n"
    assert not valkey.present()
    with Valkey(data_dir, tied=True) as again:
        assert again._ask(b"GET mark") == b"$1\r\n1\r\n"
