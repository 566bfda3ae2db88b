"""Both servers for as long as somebody uses them: the last one out stops them."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from governance.plumbing.embedded.postgres import Postgres
from governance.plumbing.embedded.process import Server, locked, private_folder
from governance.plumbing.embedded.valkey import Valkey


@contextlib.contextmanager
def ensure_servers(
    data_dir: str | Path, *, database: bool = True, broker: bool = True
) -> Iterator[dict[str, str]]:
    """PostgreSQL (`database`) and Valkey (`broker`) run inside this block, which gets the
    environment variables that lead to them.

    Those already running are used. On leaving, whoever is the last user of `data_dir` stops
    them: a command that started them while another still works leaves them to the other.
    Raises ServerError.
    """
    folder = private_folder(Path(data_dir).absolute())
    door = folder / "servers.lock"
    wanted: dict[str, Server] = {}
    if database:
        wanted["DATABASE_URL"] = Postgres(folder)
    if broker:
        wanted["CELERY_BROKER_URL"] = Valkey(folder)
    with (folder / "servers.users").open("w") as users:
        try:
            with locked(door):
                fcntl.flock(users, fcntl.LOCK_SH)
                environment = {variable: server.start() for variable, server in wanted.items()}
            yield environment
        finally:
            with locked(door), contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for server in (Valkey(folder), Postgres(folder)):
                    server.stop()
