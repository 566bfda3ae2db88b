"""A small HTTP/1.1 server: GET and HEAD, one request a connection, bounded in every direction.

``http.server`` would bring the e-mail, HTML and SSL packages with it (over six megabytes
resident); the agent needs none of them to answer four addresses.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import zlib
from urllib.parse import parse_qsl, unquote

from collector.log import log

MAX_HEAD = 16 * 1024
REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Request:
    __slots__ = ("headers", "method", "path", "peer", "query")

    def __init__(self, method: str, path: str, query: dict, headers: dict, peer: str) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.peer = peer


class Response:
    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        **headers: str,
    ) -> None:
        self.status = status
        self.body = body
        self.headers = {"Content-Type": content_type, **headers}


class BadRequest(Exception):
    """The request cannot be read; carries the status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def parse_bind(text: str) -> tuple[str, int]:
    """``HOST:PORT`` or ``[V6]:PORT``; raises ValueError with what would be right."""
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError(f"{text!r}: write HOST:PORT, for example 127.0.0.1:9465 or [::]:9465")
    return host, int(port)


class Server:
    """Serves ``handler(Request) -> Response`` until closed.

    At most ``workers`` requests at a time, further ones wait in the listen queue; a request that
    is not there within ``timeout`` seconds is dropped, however slowly it trickles in.
    """

    def __init__(
        self, bind: str, handler, *, tls=None, workers: int = 24, timeout: float = 5.0
    ) -> None:
        host, port = parse_bind(bind)
        self._handler = handler
        self._tls = tls
        self._timeout = timeout
        self._slots = threading.BoundedSemaphore(workers)
        self._closing = False
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=256)
        self.address = self._socket.getsockname()[:2]
        threading.stack_size(512 * 1024)
        threading.Thread(target=self._accept, name="http", daemon=True).start()

    def close(self) -> None:
        self._closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._closing:
            self._slots.acquire()
            try:
                connection, peer = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection, peer), daemon=True).start()
            except (OSError, RuntimeError) as error:
                self._slots.release()
                if not self._closing:
                    log(f"http: {error}", every=60)
                    time.sleep(0.1)

    def _serve(self, connection: socket.socket, peer: tuple) -> None:
        try:
            connection.settimeout(self._timeout)
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._answer(connection, peer[0])
        except OSError:  # gone, too slow, or no TLS
            pass
        finally:
            try:
                connection.close()
            finally:
                self._slots.release()

    def _answer(self, connection: socket.socket, peer: str) -> None:
        method = ""
        try:
            request = self._read(connection, peer)
            method = request.method
            response = self._handler(request)
        except BadRequest as error:
            response = Response(
                error.status,
                b'{"code":"bad_request","detail":"%s"}' % str(error).encode(),
            )
        except OSError:
            raise
        except Exception as error:
            log(f"http: {type(error).__name__}: {error}")
            response = Response(500, b'{"code":"internal_error"}')
        head = [f"HTTP/1.1 {response.status} {REASONS.get(response.status, '')}"]
        headers = {
            **response.headers,
            "Content-Length": str(len(response.body)),
            "Connection": "close",
            "Cache-Control": "no-store",
        }
        head += [f"{name}: {value}" for name, value in headers.items()]
        data = "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n"
        connection.sendall(data if method == "HEAD" else data + response.body)
        if self._tls is None:
            # let the peer read the answer before a reset for bytes that we did not read
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(0.2)
            with contextlib.suppress(OSError):
                connection.recv(4096)

    def _read(self, connection: socket.socket, peer: str) -> Request:
        deadline = time.monotonic() + self._timeout
        data = b""
        while b"\r\n\r\n" not in data:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
            piece = connection.recv(4096)
            if not piece:
                raise ConnectionError
            data += piece
            if len(data) > MAX_HEAD:
                raise BadRequest(431, "the request head is too large")
        connection.settimeout(self._timeout)
        lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
            raise BadRequest(400, "the request line cannot be read")
        if words[0] not in ("GET", "HEAD"):
            raise BadRequest(405, "only GET and HEAD are served")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise BadRequest(400, "a header line cannot be read")
            headers[name.lower()] = value.strip()
        path, _, query = words[1].partition("?")
        try:
            pairs = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=20))
        except ValueError:
            raise BadRequest(400, "too many query fields") from None
        return Request(words[0], unquote(path), pairs, headers, peer)


class Limiter:
    """Requests per second and address, with a burst of twice as many."""

    def __init__(self, rate: float, clock=time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allow(self, peer: str) -> bool:
        with self._lock:
            now = self._clock()
            tokens, then = self._buckets.get(peer, (2 * self._rate, now))
            tokens = min(2 * self._rate, tokens + (now - then) * self._rate)
            if len(self._buckets) > 1000:
                self._buckets.clear()
            self._buckets[peer] = (max(0.0, tokens - 1), now)
            return tokens >= 1


def gzip(body: bytes) -> bytes:
    """RFC 1952 by zlib alone; the gzip module is not needed for it."""
    packer = zlib.compressobj(5, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()
