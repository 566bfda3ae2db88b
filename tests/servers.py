"""A pytest plugin: one throw-away PostgreSQL for the whole run, started before settings load.

`DATABASE_URL` in the environment is used instead where it is set. xdist's workers inherit it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from governance.plumbing.embedded import Postgres

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
        shutil.rmtree(_folder, ignore_errors=True)
