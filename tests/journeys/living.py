"""The living system as a test drives it: the real `manage.py run`, from outside, over HTTP."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from governance.config.env import ROOT
from governance.plumbing.supervisor import LOOPBACK

START_SECONDS = 300
OF_THE_SURROUNDINGS = {"DATABASE_URL", "CELERY_BROKER_URL", "DATA_DIR", "PORT", "DEMO"}


def surroundings(data_dir: Path, **variables: str) -> dict[str, str]:
    """The environment of a person who chose `data_dir`."""
    inherited = {k: v for k, v in os.environ.items() if k not in OF_THE_SURROUNDINGS}
    return {**inherited, "DATA_DIR": str(data_dir), **variables}


def any_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@dataclass
class Living:
    """A running system."""

    process: "subprocess.Popen[str]"
    data_dir: Path
    address: str
    output: Path

    def manage(self, *arguments: str, **options: str) -> str:
        """Another command beside it; its standard output. Fails where the command does."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=surroundings(self.data_dir, **options),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def log(self, name: str) -> str:
        """What a process of the system wrote."""
        return (self.data_dir / "logs" / f"{name}.log").read_text(errors="replace")

    def children(self) -> dict[int, str]:
        """Process numbers of the programs kept, with their command lines."""
        pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return {
            int(pid): Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            for pid in pids.split()
        }

    def stop(self) -> int:
        """Ctrl-C; the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(90)


@contextmanager
def living(data_dir: Path, *, demo: bool, port: int | None = None) -> Iterator[Living]:
    """`manage.py run` from its start to its healthy state; stopped at the end."""
    port = port or any_port()
    output = data_dir.with_name(f"{data_dir.name}.output")
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run"],
            cwd=ROOT,
            env=surroundings(data_dir, PORT=str(port), DEMO=str(int(demo))),
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    system = Living(process, data_dir, f"http://127.0.0.1:{port}", output)
    try:
        wait(lambda: "runs at" in output.read_text() or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, output.read_text()
        yield system
    finally:
        if process.poll() is None:
            system.stop()


def wait(ready: Callable[[], object], seconds: float, every: float = 0.2) -> None:
    """Until `ready()`; an assertion error if that takes longer than `seconds`."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(every)


class Person:
    """Somebody who signed in by the page, using pages and the API from one session."""

    def __init__(self, address: str, email: str, password: str) -> None:
        self.http = httpx.Client(base_url=address, follow_redirects=True, timeout=30)
        page = self.http.get("/accounts/login/")
        answer = self.http.post(
            "/accounts/login/",
            data={"login": email, "password": password, "csrfmiddlewaretoken": _token(page.text)},
        )
        assert answer.status_code == 200, answer.text[:500]
        assert "sessionid" in self.http.cookies or "session" in self.http.cookies, "not signed in"

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *exception: object) -> None:
        self.http.close()

    def get(self, path: str, **params: object) -> httpx.Response:
        return self.http.get(path, params=params or None)

    def post(self, path: str, **fields: object) -> httpx.Response:
        """A form, as its page would send it."""
        return self.http.post(path, data={**fields, "csrfmiddlewaretoken": self._csrf()})

    def api(self, path: str, body: object = None, *, expect: Sequence[int] = (200, 201)) -> object:
        """GET, or POST with a body; the JSON answer."""
        url = f"/api/v1/{path}"
        headers = {"X-CSRFToken": self._csrf()}
        answer = (
            self.http.get(url) if body is None else self.http.post(url, json=body, headers=headers)
        )
        assert answer.status_code in expect, f"{url}: {answer.status_code} {answer.text[:1000]}"
        return answer.json() if answer.content else None

    def _csrf(self) -> str:
        return self.http.cookies.get("csrf") or ""


def _token(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found, "the page has no form"
    return found.group(1)
