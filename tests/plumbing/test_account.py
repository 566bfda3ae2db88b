"""Where the kernel refuses user namespaces (a chroot), the servers run as a number of nobody's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from governance.config.env import ROOT

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("unshare") is None,
        reason="a chroot needs root and unshare (util-linux)",
    ),
]

PROGRAM = """
import os, shutil, stat, sys
from pathlib import Path
import psycopg2
from governance.plumbing.embedded import Postgres, Valkey
from governance.plumbing.embedded.identity import ours

assert ours() is None, "the kernel allowed a namespace here"
folder = Path(sys.argv[1])
server = Postgres(folder, durable=False)
try:
    for _ in range(2):
        with server, Valkey(folder, durable=False) as valkey:
            connection = psycopg2.connect(server.url)
            connection.cursor().execute("create table if not exists kept ()")
            connection.close()
            pid = int((server.cluster / "postmaster.pid").read_text().split()[0])
            uid = os.stat(f"/proc/{pid}").st_uid
            assert valkey.running()
    for path in (server.cluster, server.socket_folder):
        state = path.stat()
        assert (state.st_uid, stat.S_IMODE(state.st_mode)) == (uid, 0o700), path
    assert (folder / "postgres.password").stat().st_uid == 0
    print("uid", uid, "home", server.home)
finally:
    shutil.rmtree(server.home)
"""


def test_servers_run_as_a_number_of_nobodys(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    script = 'mount --rbind / "$1" && exec chroot "$1" "$2" -c "$3" "$4"'
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"),
            *(str(root), sys.executable, PROGRAM, str(tmp_path / "data")),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "user namespaces are refused here" in done.stderr
    uid = int(done.stdout.split()[1])
    assert uid not in {0, 65534}
    assert not Path(done.stdout.split()[3]).exists()
