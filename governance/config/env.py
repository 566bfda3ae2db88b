"""The only reader of environment variables. A wrong value stops the start with one clear line."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


class WrongSetting(Exception):
    """An environment variable has a value that cannot be used."""


@dataclass(frozen=True)
class Env:
    """Typed settings. `*_FILE` names a file holding the secret instead of the value itself."""

    data_dir: Path
    database_url: str
    broker_url: str
    secret_key: str
    debug: bool
    demo: bool
    port: int
    public_url: str
    allowed_hosts: tuple[str, ...]
    email_url: str
    log_json: bool
    oidc: dict[str, str]
    """server_url, client_id, secret, name, teams_claim; empty without OIDC_SERVER_URL."""
    robots: dict[str, tuple[str, str, str]]
    """dingtalk, feishu, wecom: client id, secret, agent id; those that are set."""


def _text(name: str, default: str = "") -> str:
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise WrongSetting(f"{name}_FILE: cannot read {path}: {error.strerror}") from error
    return os.environ.get(name, default)


def _flag(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in _TRUE:
        return True
    if value.lower() in _FALSE:
        return False
    raise WrongSetting(f"{name}: “{value}” is not a switch; write 1 or 0")


def _port(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if value.isdigit() and 0 < int(value) < 65536:
        return int(value)
    raise WrongSetting(f"{name}: “{value}” is not a port; write a number from 1 to 65535")


def _url(name: str, schemes: tuple[str, ...], default: str = "") -> str:
    value = _text(name, default)
    if value and urlsplit(value).scheme not in schemes:
        raise WrongSetting(
            f"{name}: must begin with one of {', '.join(s + '://' for s in schemes)}"
        )
    return value


def _secret_key(data_dir: Path) -> str:
    given = _text("SECRET_KEY")
    if given:
        if len(given) < 32:
            raise WrongSetting("SECRET_KEY: at least 32 characters are needed")
        return given
    path = data_dir / "secret_key"
    if not path.exists():
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WrongSetting(
                f"DATA_DIR: no folder can be made at {data_dir} ({error.strerror}); "
                "name one that can be written"
            ) from None
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(48))
        except FileExistsError:
            pass
    return path.read_text(encoding="utf-8").strip()


def _oidc() -> dict[str, str]:
    server = _url("OIDC_SERVER_URL", ("https", "http"))
    if not server:
        return {}
    found = {
        "server_url": server,
        "client_id": _text("OIDC_CLIENT_ID"),
        "secret": _text("OIDC_CLIENT_SECRET"),
        "name": _text("OIDC_NAME", "Single sign-on"),
        "teams_claim": _text("OIDC_TEAMS_CLAIM"),
    }
    if not found["client_id"]:
        raise WrongSetting("OIDC_CLIENT_ID: needed with OIDC_SERVER_URL")
    return found


def _robots() -> dict[str, tuple[str, str, str]]:
    found = {}
    for name in ("dingtalk", "feishu", "wecom"):
        upper = name.upper()
        client, secret = _text(f"{upper}_CLIENT_ID"), _text(f"{upper}_CLIENT_SECRET")
        agent = _text(f"{upper}_AGENT_ID")
        if client and not secret:
            raise WrongSetting(f"{upper}_CLIENT_SECRET: needed with {upper}_CLIENT_ID")
        if client and name == "wecom" and not agent:
            raise WrongSetting("WECOM_AGENT_ID: needed with WECOM_CLIENT_ID (the corp id)")
        if client:
            found[name] = (client, secret, agent)
    return found


def read() -> Env:
    """Read and check every variable; raises WrongSetting with the name and what would be right."""
    data_dir = Path(os.environ.get("DATA_DIR") or ROOT / "var").absolute()
    port = _port("PORT", 8000)
    public_url = _url("PUBLIC_URL", ("http", "https"), f"http://127.0.0.1:{port}").rstrip("/")
    host = urlsplit(public_url).hostname or "127.0.0.1"
    hosts = tuple(h for h in os.environ.get("ALLOWED_HOSTS", "").split(",") if h)
    return Env(
        data_dir=data_dir,
        database_url=_url("DATABASE_URL", ("postgres", "postgresql")),
        broker_url=_url("CELERY_BROKER_URL", ("redis", "rediss", "redis+socket", "amqp", "amqps")),
        secret_key=_secret_key(data_dir),
        debug=_flag("DEBUG", False),
        demo=_flag("DEMO", True),
        port=port,
        public_url=public_url,
        allowed_hosts=hosts or tuple({host, "127.0.0.1", "localhost", "[::1]"}),
        email_url=_url("EMAIL_URL", ("smtp", "smtps", "console")),
        log_json=_flag("LOG_JSON", False),
        oidc=_oidc(),
        robots=_robots(),
    )


def load() -> Env:
    """Like `read`, but ends the process with the one clear line."""
    try:
        return read()
    except WrongSetting as error:
        sys.exit(f"Wrong setting. {error}")
