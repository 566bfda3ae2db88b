"""Pulling over real HTTP: cursors, faults of nodes, leases, back-off, and the collector itself."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.models import Card, MinuteSample, Node, PullState
from governance.telemetry.services.pull import wait_after
from tests import make
from tests.telemetry.pages import BASE, document, row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(60)]
Answer = Callable[[BaseHTTPRequestHandler, str], None]


class PlayedNode:
    """A node whose answers a test makes up; counts what was asked."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[str] = []
        self.tokens: list[str] = []
        played = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                after = parse_qs(urlsplit(self.path).query).get("after", [""])[0]
                played.asked.append(after)
                played.tokens.append(self.headers.get("Authorization", ""))
                answer(self, after)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def play(house: make.House) -> Iterator[Callable[..., tuple[PlayedNode, int]]]:
    """`play(answer)` enrols a node that answers so."""
    played: list[PlayedNode] = []

    def enrol(answer: Answer, name: str = "north") -> tuple[PlayedNode, int]:
        node = PlayedNode(answer)
        played.append(node)
        enrolment = services.enrol_node(
            actor=SYSTEM, name=name, address=node.address, interval_seconds=60, now=clock.now()
        )
        return node, enrolment.node_id

    yield enrol
    for node in played:
        node.server.shutdown()
        node.server.server_close()


def pull() -> dict[int, str]:
    """Claim whatever is due and pull it, as the task does."""
    node_ids, lease = services.claim_due(now=clock.now())
    return services.pull_nodes(node_ids=node_ids, lease=lease, clock=clock.now)


def three_pages(handler: BaseHTTPRequestHandler, after: str) -> None:
    """Ten rows a page, thirty in all."""
    start = int(after.partition(":")[2] or 0)
    rows = [row(minute=BASE + n) for n in range(start, min(start + 10, 30))]
    body = json.dumps(document(rows, first=start + 1, more=start < 20)).encode()
    if not rows:
        body = json.dumps({**document([]), "next": "e1:30"}).encode()
    send(handler, gzip.compress(body), Content_Encoding="gzip")


def test_pages_are_pulled_until_there_are_no_more(play: Any) -> None:
    node, node_id = play(three_pages)
    assert pull() == {node_id: "ok"}
    state = PullState.objects.get(node_id=node_id)
    assert (state.cursor, state.rows_stored, state.failures) == ("e1:30", 30, 0)
    assert state.lease is None
    assert node.asked == ["", "e1:10", "e1:20"]
    assert node.tokens[0].startswith("Bearer cln_")
    assert MinuteSample.objects.count() == 30
    PullState.objects.update(due_at=clock.now())
    assert pull() == {node_id: "ok"}
    assert node.asked[-1] == "e1:30"
    assert MinuteSample.objects.count() == 30


def _raw(body: bytes, status: int = 200, **headers: str) -> Answer:
    return lambda handler, after: send(handler, body, status, **headers)


PAGE = json.dumps(document([row()])).encode()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (_raw(b""), "empty_payload"),
        (_raw(b"[]"), "empty_payload"),
        (_raw(b"# only a comment\n"), "not_json"),
        (_raw(PAGE[:-40]), "not_json"),
        (_raw(gzip.compress(PAGE)[:-8], Content_Encoding="gzip"), "cut_short"),
        (_raw(PAGE, Content_Encoding="gzip"), "not_gzip"),
        (_raw(PAGE.replace(b'"format": 1', b'"format": 2')), "format"),
        (_raw(PAGE, 302, Location="http://127.0.0.1:1/"), "redirect"),
        (_raw(b"no", 401), "http_401"),
        (_raw(b"no", 503), "http_503"),
        (_raw(json.dumps({**document([]), "more": True, "next": ""}).encode()), "frame"),
    ],
)
def test_an_odd_answer_is_a_failed_pull_and_moves_nothing(
    play: Any, answer: Answer, code: str
) -> None:
    _, node_id = play(answer)
    assert pull() == {node_id: code}
    state = PullState.objects.get(node_id=node_id)
    assert (state.cursor, state.last_error, state.failures) == ("", code, 1)
    assert state.last_ok_at is None
    assert state.due_at > clock.now() + timedelta(seconds=30)
    assert MinuteSample.objects.count() == 0


def test_a_page_larger_than_allowed_is_refused(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("governance.telemetry.services.pull.MAX_WIRE", 100)
    _, node_id = play(_raw(PAGE))
    assert pull() == {node_id: "too_large"}


def test_more_behind_the_same_cursor_is_given_up(play: Any) -> None:
    def stuck(handler: BaseHTTPRequestHandler, after: str) -> None:
        send(handler, json.dumps({**document([row()]), "more": True}).encode())

    node, node_id = play(stuck)
    assert pull() == {node_id: "stuck"}
    assert len(node.asked) == 2
    assert MinuteSample.objects.count() == 1


def test_one_that_does_not_answer_holds_nobody_up(play: Any) -> None:
    gone, gone_id = play(_raw(PAGE), name="gone")
    gone.server.shutdown()
    gone.server.server_close()
    _, node_id = play(three_pages)
    assert pull() == {gone_id: "unreachable", node_id: "ok"}


def test_the_token_before_a_rotation_is_tried_too(play: Any) -> None:
    def old_only(handler: BaseHTTPRequestHandler, after: str) -> None:
        given = handler.headers["Authorization"].removeprefix("Bearer ")
        send(handler, PAGE, 200 if given == first else 401)

    node, node_id = play(old_only)
    found = Node.objects.get(pk=node_id)
    [first] = services.tokens_of(found, clock.now())
    services.rotate_token(actor=SYSTEM, node_id=node_id, now=clock.now())
    assert pull() == {node_id: "ok"}
    assert len(set(node.tokens)) == 2


def test_a_node_belongs_to_one_worker_until_the_lease_ends(play: Any) -> None:
    play(three_pages)
    now = clock.now()
    claimed, lease = services.claim_due(now=now)
    assert len(claimed) == 1
    PullState.objects.update(due_at=now)
    assert services.claim_due(now=now)[0] == []
    later = now + timedelta(seconds=91)
    again, second = services.claim_due(now=later)
    assert again == claimed
    assert services.pull_nodes(node_ids=claimed, lease=lease, clock=clock.now) == {}
    assert second != lease
    assert MinuteSample.objects.count() == 0


def test_claims_count_as_failures_until_a_page_is_stored(play: Any) -> None:
    """A page that kills its worker is met ever more rarely."""
    _, node_id = play(three_pages)
    now = clock.now()
    for attempt in range(1, 4):
        services.claim_due(now=now)
        state = PullState.objects.get(node_id=node_id)
        assert state.failures == attempt
        now = max(state.due_at, now + timedelta(seconds=91)) + timedelta(seconds=1)


def test_the_wait_doubles_up_to_five_minutes() -> None:
    waits = [wait_after(n, 10) for n in range(1, 12)]
    for wait, plain in zip(waits, (10, 20, 40, 80, 160, 300, 300, 300), strict=False):
        assert 0.8 * plain <= wait <= 1.2 * plain


def test_two_workers_at_once_store_each_row_once(play: Any) -> None:
    from django.db import connections

    _, node_id = play(three_pages)
    barrier = threading.Barrier(2)
    ends: list[dict[int, str]] = []

    def worker() -> None:
        barrier.wait()
        try:
            ends.append(pull())
        finally:
            connections.close_all()

    threads = [threading.Thread(target=worker) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends, key=len) == [{}, {node_id: "ok"}]
    assert MinuteSample.objects.count() == 30


def test_the_real_collector_killed_and_started_again(house: make.House, tmp_path: Path) -> None:
    """Its rows arrive once each, also after kill -9 between two pulls."""
    series = tmp_path / "series.csv"
    lines = ["timestamp,card,gpu_duty_share,bandwidth_share"]
    for second in range(0, 3600, 5):
        at = datetime.fromtimestamp((BASE * 60) + second).astimezone().isoformat()
        lines += [f"{at},GPU-{card},0.5,0.{second % 7}" for card in range(2)]
    series.write_text("\n".join(lines))
    port = _free_port()
    node = services.enrol_node(
        actor=SYSTEM, name="real", address=f"http://127.0.0.1:{port}", now=clock.now()
    )

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "collector", "run", "--source", f"replay:{series}"]
        command += ["--replay-speed", "max", "--metric-source", "nvml_gpm"]
        command += ["--bind", f"127.0.0.1:{port}", "--data-dir", str(tmp_path / "spool")]
        return subprocess.Popen(
            [*command, "--token", node.token], cwd=settings.ROOT, stderr=subprocess.DEVNULL
        )

    def pull_until_known() -> None:
        for _ in range(60):
            PullState.objects.update(due_at=clock.now(), lease=None, leased_until=None)
            if pull() == {node.node_id: "ok"} and MinuteSample.objects.count():
                return
            time.sleep(0.2)
        pytest.fail("the collector did not answer")

    process = start()
    try:
        pull_until_known()
        process.kill()
        process.wait()
        process = start()
        pull_until_known()
        for _ in range(30):
            PullState.objects.update(due_at=clock.now())
            pull()
            if MinuteSample.objects.count() == 120:
                break
            time.sleep(0.2)
    finally:
        process.kill()
        process.wait()
    assert MinuteSample.objects.count() == 120
    assert Card.objects.count() == 2
    assert set(MinuteSample.objects.values_list("samples", flat=True)) == {12}


def _free_port() -> int:
    import socket

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
