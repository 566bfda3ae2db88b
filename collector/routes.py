"""What the agent answers over HTTP."""

from __future__ import annotations

import json
import sqlite3
from _operator import _compare_digest as same

from collector import exposition
from collector.agent import Agent
from collector.page import LIMIT, BadCursor, build
from collector.web import Limiter, Request, Response, gzip

JSON = "application/json"


def fault(status: int, code: str, detail: str, **headers: str) -> Response:
    return Response(status, json.dumps({"code": code, "detail": detail}).encode(), JSON, **headers)


class Routes:
    """``GET /v1/samples``, ``/metrics`` (token), ``/livez``, ``/readyz`` (open, no figures)."""

    def __init__(self, agent: Agent, token: str) -> None:
        self._agent = agent
        self._token = token.encode()
        self._limiter = Limiter(agent.settings.rate)
        self.counts: dict[tuple[str, int], int] = {}

    def __call__(self, request: Request) -> Response:
        response = self._route(request)
        key = (request.path if response.status != 404 else "other", response.status)
        self.counts[key] = self.counts.get(key, 0) + 1
        return response

    def _route(self, request: Request) -> Response:
        if request.path == "/livez":
            return Response(200, b"ok\n", "text/plain")
        if request.path == "/readyz":
            ready, why = self._agent.ready()
            return Response(200 if ready else 503, why.encode() + b"\n", "text/plain")
        if request.path not in ("/v1/samples", "/metrics"):
            return fault(404, "not_found", "served are /v1/samples, /metrics, /livez, /readyz")
        if not self._limiter.allow(request.peer):
            return fault(429, "too_many_requests", "slow down", **{"Retry-After": "1"})
        open_metrics = self._agent.settings.open_metrics and request.path == "/metrics"
        if not (open_metrics or self._authorized(request)):
            return fault(
                401,
                "unauthorized",
                "send Authorization: Bearer TOKEN",
                **{"WWW-Authenticate": "Bearer"},
            )
        if request.path == "/metrics":
            text = exposition.render(self._agent, self.counts)
            return packed(request, text.encode(), exposition.CONTENT_TYPE)
        return self._samples(request)

    def _authorized(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = token.strip().encode("latin-1", "replace")
        return same(given, self._token) and scheme.lower() == "bearer"

    def _samples(self, request: Request) -> Response:
        text = request.query.get("limit", str(LIMIT))
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) > 0):
            return fault(400, "bad_limit", "limit must be a whole number from 1")
        limit = min(int(text), self._agent.settings.page_limit)
        try:
            page = build(
                self._agent.spool,
                request.query.get("after"),
                limit,
                dict(self._agent.health),
                frozenset(request.query.get("without", "").split(",")),
            )
        except BadCursor as error:
            return fault(400, "bad_cursor", str(error))
        except sqlite3.DatabaseError as error:
            # a page that can never be read would hold its reader up for ever
            self._agent.mend(error)
            return fault(503, "spool_unreadable", str(error), **{"Retry-After": "5"})
        return packed(request, page.body, JSON)


def packed(request: Request, body: bytes, content_type: str) -> Response:
    """The answer, compressed where the client asked for it."""
    wanted = [
        part.strip().lower() for part in request.headers.get("accept-encoding", "").split(",")
    ]
    if len(body) > 500 and any(
        part.split(";")[0] == "gzip" and not part.replace(" ", "").endswith(";q=0")
        for part in wanted
    ):
        return Response(200, gzip(body), content_type, **{"Content-Encoding": "gzip"})
    return Response(200, body, content_type)
