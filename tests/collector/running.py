"""An agent in a process of its own, and a client that pulls from it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "the-token"


class Running:
    """Starts ``collector run`` and knows where it listens."""

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        *arguments: str,
        speed: float | None = None,
        origin: float | None = None,
    ) -> None:
        module = (
            ["collector"]
            if speed is None
            else ["tests.collector.fast", str(speed), str(origin or time.time())]
        )
        self.log = folder.parent / f"{folder.name}.log"
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [
                    *[sys.executable, "-m", *module, "run", "--data-dir", str(folder)],
                    *["--bind", "127.0.0.1:0", "--token", TOKEN, *arguments],
                ],
                cwd=ROOT,
                env=environment,
                stderr=log,
            )
        self._offset = self.log.stat().st_size
        self.port = self._wait_for_port()

    def _wait_for_port(self) -> int:
        for _ in range(200):
            found = re.findall(r"serving on https?://[^ ]+:(\d+)", self.log.read_text())
            if found and self._answers(int(found[-1])):
                return int(found[-1])
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"the agent did not come up:\n{self.log.read_text()}")

    def _answers(self, port: int) -> bool:
        try:
            return _get(port, "/livez")[0] == 200
        except (OSError, http.client.HTTPException):
            return self.process.poll() is None and "https" in self.log.read_text()

    def get(self, path: str, token: str | None = TOKEN, **headers: str):
        """Status, headers and body."""
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return _get(self.port, path, headers)

    def page(self, after: str | None = None, limit: int = 1000) -> dict:
        query = f"?limit={limit}" + (f"&after={quote(after)}" if after else "")
        status, _, body = self.get(f"/v1/samples{query}")
        assert status == 200, body
        return json.loads(body)

    def until(self, condition, patience: float = 15.0):
        """What ``condition`` gives once it gives something."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.05)
        raise AssertionError(f"not within {patience} s; log:\n{self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


def _get(port: int, path: str, headers: dict[str, str] | None = None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()
