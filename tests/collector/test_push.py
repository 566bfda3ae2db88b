"""Push mode against a real HTTP server that can refuse, lose and forget."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.agent import Agent
from collector.model import Card, Reading
from collector.push import CURSOR, Pusher
from collector.settings import SettingsError, load
from collector.spool import Spool

MINUTE = 1_800_000_000 // 60 * 60


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent; ``answers`` are the statuses of the next requests, else 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: list[dict] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.tokens: list[str | None] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def rows(self) -> list[tuple[str, int]]:
        return [
            (page["cards"][card]["uuid"], minute)
            for page in self.pages
            for card, minute in zip(page["columns"]["card"], page["columns"]["minute"], strict=True)
        ]


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.append(self.headers["Authorization"])
        status, headers, text = 200, {}, b"{}"
        if self.server.answers:
            status, headers, text = self.server.answers.pop(0)
        if status == 200:
            page = json.loads(gzip.decompress(body))
            self.server.pages.append(page)
            text = json.dumps({"next": page["next"]}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.shutdown()
    receiver.server_close()


@pytest.fixture
def pusher(spool: Spool, receiver: Receiver) -> Pusher:
    settings = load(
        {
            "data_dir": spool.folder,
            "push_url": f"http://127.0.0.1:{receiver.server_port}/push",
            "push_token": "secret",
            "push_every": "20",
            "page_limit": "40",
        },
        None,
        {},
    )
    return Pusher(Agent(settings, spool, None), settings)


def fill(spool: Spool, card: Card, minutes: int, start: int = MINUTE) -> None:
    spool.store(
        [(start + 60 * m, [(card, Reading("nvml_gpm", bandwidth=0.5))]) for m in range(minutes)]
    )
    spool.fold_until(None)


def test_pages_are_pushed_once_each_and_the_cursor_is_kept(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 100)
    waits = [pusher.step() for _ in range(4)]
    assert waits == [0.0, 0.0, 20.0, 20.0]
    assert len(receiver.pages) == 3
    assert len(receiver.rows()) == len(set(receiver.rows())) == 100
    assert set(receiver.tokens) == {"Bearer secret"}
    assert spool.meta(CURSOR) == receiver.pages[-1]["next"]


def test_a_server_that_is_away_loses_nothing(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 10)
    receiver.answers = [
        (503, {"Retry-After": "77"}, b""),
        (500, {}, b""),
        (401, {}, b"no"),
        (302, {"Location": "http://127.0.0.1:1/steal"}, b""),
    ]
    waits = [pusher.step() for _ in range(4)]
    assert waits[0] >= 77
    assert waits[1] < waits[2] < 40
    assert receiver.rows() == []
    assert pusher._agent.health["push"]["state"] == "failing"
    pusher.step()
    assert len(receiver.rows()) == 10
    assert pusher._agent.health["push"]["state"] == "ok"


def test_a_dead_server_is_asked_with_growing_pauses(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 1)
    pusher._url = "http://127.0.0.1:9/push"
    waits = [pusher.step() for _ in range(12)]
    assert waits[0] < 3
    assert all(wait <= 375 for wait in waits)
    assert waits[-1] >= 200


def test_too_large_a_page_is_halved(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 30)
    receiver.answers = [(413, {}, b""), (413, {}, b"")]
    while pusher.step() == 0.0:
        pass
    assert max(len(page["columns"]["seq"]) for page in receiver.pages) <= 20
    assert len(receiver.rows()) == 30


def test_a_server_that_forgot_gets_the_rows_again(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 30)
    pusher.step()
    fill(spool, card, 1, MINUTE + 86400)
    receiver.answers = [(409, {}, json.dumps({"next": f"{spool.epoch}:10"}).encode())]
    pusher.step()
    pusher.step()
    assert len(receiver.pages[-1]["columns"]["seq"]) == 21


@pytest.mark.parametrize("told", ["{epoch}:0", "{epoch}:5"])
def test_a_server_that_holds_the_cursor_back_is_not_flooded(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card, told: str
) -> None:
    fill(spool, card, 100)
    answer = json.dumps({"next": told.format(epoch=spool.epoch)}).encode()
    receiver.answers = [(202, {}, answer)] * 3
    assert [pusher.step() for _ in range(3)] == [20.0] * 3
    pusher.step()
    assert len(set(receiver.rows())) == len(receiver.rows()) > 0


def test_a_cursor_of_another_epoch_does_not_start_over(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 100)
    receiver.answers = [(202, {}, b'{"next": "abc:7"}')]
    assert pusher.step() == 0.0
    assert str(spool.meta(CURSOR)).startswith(f"{spool.epoch}:")
    pusher.step()
    assert receiver.pages[0]["columns"]["seq"][0] > 1


def test_an_answer_with_a_foreign_cursor_is_not_believed(
    pusher: Pusher, receiver: Receiver, spool: Spool, card: Card
) -> None:
    fill(spool, card, 1)
    receiver.answers = [(409, {}, b'{"next": "' + b"9" * 99 + b'"}')]
    pusher.step()
    assert spool.meta(CURSOR) is None


def test_push_over_tls_checks_the_server(spool: Spool, card: Card, tmp_path: Path) -> None:
    import ssl

    certificate = make_certificate(tmp_path, "server")
    receiver = Receiver()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    receiver.socket = context.wrap_socket(receiver.socket, server_side=True)
    fill(spool, card, 5)
    options = {
        "data_dir": spool.folder,
        "push_url": f"https://127.0.0.1:{receiver.server_port}/push",
        "push_token": "secret",
    }
    trusting = load({**options, "push_ca": str(certificate[0])}, None, {})
    doubting = load(options, None, {})
    try:
        doubter = Pusher(Agent(doubting, spool, None), doubting)
        doubter.step()
        assert receiver.pages == []
        assert "CERTIFICATE_VERIFY_FAILED" in doubter._agent.health["push"]["detail"]
        Pusher(Agent(trusting, spool, None), trusting).step()
        assert len(receiver.rows()) == 5
    finally:
        receiver.shutdown()
        receiver.server_close()


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    done = subprocess.run(
        [
            *["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"],
            *["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
            *["-keyout", str(key), "-out", str(certificate)],
        ],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("openssl cannot make a certificate here")
    return certificate, key


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"push_url": "http://x/y"}, "--push-token-file"),
        ({"push_url": "ftp://x/y", "push_token": "t"}, "https://HOST"),
        ({"push_url": "https://x/y", "push_token": "t", "push_ca": "/nonexistent"}, "--push-ca"),
        ({"push_url": "https://x/y", "push_token_file": "/nonexistent"}, "/nonexistent"),
    ],
)
def test_wrong_options_are_refused(spool: Spool, options: dict, message: str) -> None:
    settings = load({"data_dir": spool.folder, **options}, None, {})
    with pytest.raises(SettingsError, match=message):
        Pusher(Agent(settings, spool, None), settings)
