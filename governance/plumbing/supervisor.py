"""Keeps the processes of the living system: starts them in order, revives, stops them.

Plain Python. Every process writes to a log of its own and ends when the supervisor does, even
if that is killed.
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from governance.plumbing.embedded.identity import PLAIN, Identity

LOOPBACK = "127.0.0.1"
LIVES, WITHIN_SECONDS = 5, 60
TICK_SECONDS = 0.25


class Occupied(Exception):
    """The port or the data folder is in use; the text is one line for a person."""


class Fallen(Exception):
    """A process that does not stay up; the text is one line for a person."""


def is_free(port: int, *, on: str = LOOPBACK) -> bool:
    """Whether nobody listens on the port of the address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((on, port))
        except OSError:
            return False
    return True


def free_port(wish: int, *, on: str = LOOPBACK) -> int:
    """The port wished for, or another that is free."""
    if is_free(wish, on=on):
        return wish
    with socket.socket() as probe:
        probe.bind((on, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def reserve(data_dir: Path, port: int) -> Iterator[None]:
    """Only one living system per data folder, on a port that nobody else uses."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (data_dir / "run.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Occupied(f"already running from {data_dir}: {file.read().strip()}") from None
        if not is_free(port):
            raise Occupied(f"port {port} is in use; choose another: PORT={port + 1} make run")
        file.truncate(0)
        file.write(f"http://{LOOPBACK}:{port}/\n")
        file.flush()
        yield


@dataclass
class Program:
    """A process to keep: its name (also of the log), command, and the seconds a stop may take."""

    name: str
    command: Sequence[str]
    patience: float = 10


class Supervisor:
    """Runs programs until told to stop; `say` gets the lines for a person."""

    def __init__(self, *, cwd: Path, logs: Path, say: Callable[[str], object]) -> None:
        self.cwd, self.logs, self.say = cwd, logs, say
        self._kept: list[tuple[Program, subprocess.Popen[bytes], deque[float]]] = []

    def start(self, program: Program) -> None:
        """Start one more program."""
        self._kept.append((program, self._spawn(program), deque(maxlen=LIVES)))

    def tend(self) -> None:
        """Start again what died. Raises Fallen for one that died five times within a minute."""
        for number, (program, process, deaths) in enumerate(self._kept):
            if process.poll() is None:
                continue
            deaths.append(time.monotonic())
            if len(deaths) == LIVES and deaths[-1] - deaths[0] < WITHIN_SECONDS:
                raise Fallen(f"{program.name} does not stay up: see {self.log(program)}")
            self.say(f"{program.name} ended with status {process.returncode}; starting it again")
            self._kept[number] = (program, self._spawn(program), deaths)

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Tend until `ready()`; False if that takes longer than `seconds`."""
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                return False
            self.tend()
            time.sleep(TICK_SECONDS)
        return True

    def stop(self) -> None:
        """Ask all to stop and wait; kill what takes too long."""
        for _, process, _ in reversed(self._kept):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for program, process, _ in reversed(self._kept):
            try:
                process.wait(program.patience)
            except subprocess.TimeoutExpired:
                self.say(f"{program.name} did not stop within {program.patience:g} s: killed")
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._kept.clear()

    def log(self, program: Program) -> Path:
        """Where the program's output goes."""
        return self.logs / f"{program.name}.log"

    def _spawn(self, program: Program) -> subprocess.Popen[bytes]:
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.log(program).open("ab") as log:
            return subprocess.Popen(
                Identity(PLAIN).command(program.command, tied=True),
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
