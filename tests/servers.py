"""A pytest plugin: one throw-away PostgreSQL for the whole run, started before settings load.

`DATABASE_URL` in the environment is used instead where it is set. xdist's workers inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from governance.plumbing.embedded import Postgres, Valkey

os.environ.setdefault("DEMO", "0")
os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 32)
if "PYTEST_XDIST_WORKER" not in os.environ and not os.environ.get("DATABASE_URL"):
    _folder = Path(tempfile.mkdtemp(prefix="ledger-test-"))
    _server = Postgres(_folder / "postgres", durable=False, tied=True)
    os.environ["DATABASE_URL"] = _server.start()
    os.environ.setdefault("DATA_DIR", str(_folder))

    @atexit.register
    def _stop() -> None:
        _server.stop()
        shutil.rmtree(_server.home, ignore_errors=True)
        shutil.rmtree(_folder, ignore_errors=True)


@pytest.fixture
def tidy_servers(tmp_path: Path) -> Iterator[None]:
    """Servers that a test left below its folder are stopped, data they keep elsewhere removed."""
    yield
    for note in tmp_path.rglob("socket-folder"):
        for server in (Valkey(note.parent), Postgres(note.parent)):
            server.stop()
            if server.home != note.parent:
                shutil.rmtree(server.home, ignore_errors=True)
