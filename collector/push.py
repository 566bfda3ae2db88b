"""Pushing the same pages to a server that cannot reach this node.

At least once, like pulling: the cursor moves only when the server has answered 2xx, and is kept in
the spool. A server that is away is asked again with back-off and jitter; ``Retry-After`` is obeyed.
"""

from __future__ import annotations

import json
import os
import threading

from collector.fetch import FetchError, fetch
from collector.log import log
from collector.page import BadCursor, build, parse_cursor
from collector.settings import Settings, SettingsError, secret
from collector.web import gzip

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl

LONGEST_S = 300.0
LEAST_ROWS = 10
CURSOR = "push_cursor"


class Pusher:
    """Pushes from the spool in a thread of its own until ``stop`` is set."""

    def __init__(self, agent, settings: Settings) -> None:
        self._agent = agent
        self._url: str = settings.push_url
        token = secret(settings.push_token, settings.push_token_file, "push-token-file")
        if not token:
            raise SettingsError("--push-url needs --push-token-file or COLLECTOR_PUSH_TOKEN")
        self._token = token
        self._every: float = settings.push_every
        self._rows: int = settings.page_limit
        self._context = _context(settings)
        self._failures = 0
        self.pushed = 0

    def start(self) -> None:
        threading.Thread(target=self._run, name="push", daemon=True).start()

    def _run(self) -> None:
        stop = self._agent.stop
        while not stop.is_set():
            try:
                wait = self.step()
            except Exception as error:
                wait = self._later(f"{type(error).__name__}: {error}")
            stop.wait(wait)

    def step(self) -> float:
        """Push one page; gives the seconds to wait before the next."""
        spool = self._agent.spool
        cursor = spool.meta(CURSOR)
        page = build(spool, cursor, self._rows, dict(self._agent.health))
        if page.empty:
            self._agent.set_health("push", "ok")
            self._failures = 0
            return self._every
        try:
            _, _, body = fetch(
                self._url,
                body=gzip(page.body),
                headers={
                    "Authorization": f"Bearer {self._token}",
                    "Content-Type": "application/json",
                    "Content-Encoding": "gzip",
                    "User-Agent": "gpu-collector",
                },
                timeout=30.0,
                context=self._context,
            )
        except FetchError as error:
            return self._refused(error)
        told = _told(body)
        if parse_cursor(told)[0] != spool.epoch:  # not ours: every page would start over
            told = page.next
        spool.set_meta(CURSOR, told)
        self._failures = 0
        self.pushed += page.rows
        self._agent.set_health("push", "ok")
        self._rows = min(self._rows * 2, self._agent.settings.page_limit)
        # a server that holds the cursor back gets its rows again, but not without pause
        return 0.0 if page.more and told == page.next else self._every

    def _refused(self, error: FetchError) -> float:
        if error.status == 409 and (cursor := _told(error.body)):
            # the server lost what it had and says from where it needs the rows again
            self._agent.spool.set_meta(CURSOR, cursor)
            return self._later("the server asked for earlier rows")
        if error.status == 413 and self._rows > LEAST_ROWS:
            self._rows = max(LEAST_ROWS, self._rows // 2)
            return 0.0
        detail = error.body.decode("utf-8", "replace").strip()[:200]
        wait = self._later(f"{error} {detail}".strip())
        after = (error.headers.get("Retry-After") or "").strip()
        if after.isascii() and after.isdigit() and len(after) < 6:
            wait = max(wait, min(float(after), 3600.0))
        return wait

    def _later(self, why: str) -> float:
        self._failures += 1
        self._agent.set_health("push", "failing", why)
        log(f"push: {why}", every=300)
        wait = min(LONGEST_S, 2.0 ** min(self._failures, 10))
        return wait * (0.75 + os.urandom(1)[0] / 510)  # so that nodes do not come back as one


def _told(body: bytes) -> str | None:
    """The cursor that a server's answer names, if it can be read."""
    try:
        cursor = json.loads(body).get("next")
        parse_cursor(cursor)
    except (ValueError, AttributeError, TypeError, BadCursor):
        return None
    return cursor


def _context(settings: Settings) -> ssl.SSLContext | None:
    if not settings.push_url.startswith(("https://", "http://")):
        raise SettingsError("--push-url: write https://HOST/PATH")
    if settings.push_url.startswith("http://"):
        if settings.push_ca:
            raise SettingsError("--push-ca is for https:// only")
        return None
    import ssl

    try:
        return ssl.create_default_context(cafile=settings.push_ca)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"--push-ca {settings.push_ca}: {error}") from None
