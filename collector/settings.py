"""Every option of the agent in one table: flag, environment variable, TOML key.

A flag wins over ``COLLECTOR_NAME`` in the environment, that over the TOML file, that over the
default. An unknown TOML key or a value of the wrong kind is refused with its name.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SettingsError(Exception):
    """An option is wrong; the text names it and says what would be right."""


# name, kind, default, help
OPTIONS: tuple[tuple[str, str, object, str], ...] = (
    ("source", "text", "auto", "auto, nvml, dcgm, ascend, amd or replay:FILE"),
    ("data_dir", "text", None, "folder of the spool and the agent's id"),
    ("interval", "seconds", 1.0, "time between two readings (0.1 to 60)"),
    (
        "bind",
        "text",
        "127.0.0.1:9465",
        "address and port to serve on; none: do not serve",
    ),
    (
        "token",
        "text",
        None,
        "bearer token; better given by --token-file or the environment",
    ),
    (
        "token_file",
        "text",
        None,
        "file with the bearer token; default: DATA_DIR/token, made once",
    ),
    ("open_metrics", "flag", False, "serve /metrics without a token"),
    (
        "tls_cert",
        "text",
        None,
        "PEM certificate chain; with --tls-key the agent serves HTTPS",
    ),
    ("tls_key", "text", None, "PEM private key"),
    (
        "client_ca",
        "text",
        None,
        "PEM authorities: ask each client for a certificate of one",
    ),
    ("rate", "number", 50.0, "requests per second and client address before 429"),
    ("page_limit", "integer", 2000, "most rows on a page (1 to 5000)"),
    ("fsync", "text", "minute", "off, minute or tick: what a power cut may cost"),
    (
        "keep_days",
        "number",
        14.0,
        "age at which rows are dropped, leaving a gap record",
    ),
    (
        "keep_mib",
        "number",
        256.0,
        "size of the spool above which the oldest rows are dropped",
    ),
    (
        "watchdog",
        "seconds",
        10.0,
        "a driver call that takes longer makes /readyz answer 503",
    ),
    ("processes", "flag", True, "note processes by user, job and container"),
    ("job_files", "text", None, "folder of a scheduler's files UUID -> 'JOB USER'"),
    (
        "dcgm_url",
        "text",
        "http://127.0.0.1:9400/metrics",
        "dcgm-exporter to read field 1005 from",
    ),
    ("npu_url", "text", None, "npu-exporter to read, instead of npu-smi"),
    ("npu_smi", "text", "npu-smi", "npu-smi program"),
    ("rocm_smi", "text", "rocm-smi", "rocm-smi program"),
    ("amd_smi", "text", "amd-smi", "amd-smi program, tried where rocm-smi is missing"),
    ("push_url", "text", None, "push pages to this address as well"),
    (
        "push_token",
        "text",
        None,
        "bearer token of the push; better by file or environment",
    ),
    ("push_token_file", "text", None, "file with the bearer token of the push"),
    ("push_ca", "text", None, "PEM authorities to check the push server against"),
    ("push_every", "seconds", 20.0, "time between two pushes when all is well"),
    ("replay_speed", "text", "1", "replay: a factor, or max"),
    ("loop", "flag", False, "replay: begin again at the end"),
    (
        "shift_to_now",
        "text",
        None,
        "replay: start (first reading is now) or end (last one is now)",
    ),
    ("columns", "text", None, "series: NAME=HEADER,... or NUMBER=NAME,..."),
    ("scale", "text", None, "series: percent when shares are written 0..100"),
    ("timezone", "text", None, "zone of times without one, for example Asia/Shanghai"),
    ("card", "text", None, "series without card column: the card's name"),
    ("node", "text", None, "name put before card numbers of a series"),
    (
        "metric_source",
        "text",
        None,
        "series: where its bandwidth comes from, for example nvml_gpm",
    ),
)
CHOICES = {
    "fsync": ("off", "minute", "tick"),
    "shift_to_now": ("start", "end"),
    "scale": ("percent", "share"),
}
RANGES = {
    "interval": (0.1, 60),
    "watchdog": (1, 600),
    "rate": (0.1, 1e6),
    "page_limit": (1, 5000),
    "keep_days": (0.01, 3650),
    "keep_mib": (1, 1e6),
    "push_every": (1, 3600),
}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


class Settings:
    """The values of OPTIONS as attributes."""

    def __init__(self, values: dict[str, object]) -> None:
        self.__dict__.update({name: default for name, _, default, _ in OPTIONS})
        self.__dict__.update(values)
        if self.__dict__["data_dir"] is None:
            self.__dict__["data_dir"] = default_data_dir()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def default_data_dir() -> str:
    """systemd's state folder, else /var/lib for root, else the user's state folder."""
    if state := os.environ.get("STATE_DIRECTORY"):
        return state.split(":")[0]
    if os.geteuid() == 0:
        return "/var/lib/gpu-collector"
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "gpu-collector")


def convert(name: str, kind: str, value: object, origin: str) -> object:
    """A value from text or TOML as the option's kind; raises SettingsError."""
    problem = None
    if kind == "flag":
        text = str(value).lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        problem = "true or false"
    elif kind == "text":
        if isinstance(value, str):
            if name in CHOICES and value not in CHOICES[name]:
                problem = f"one of {', '.join(CHOICES[name])}"
            else:
                return value
        else:
            problem = "text"
    else:
        low, high = RANGES[name]
        try:
            number = int(str(value)) if kind == "integer" else float(str(value))
            if low <= number <= high:
                return number
        except ValueError:
            pass
        problem = f"a number from {low:g} to {high:g}"
    raise SettingsError(f"{origin}: {value!r} is not right; {name} is {problem}")


def load(flags: dict[str, object], config: str | None, environ=os.environ) -> Settings:
    """Settings from flags (None = not given), environment and TOML file."""
    values: dict[str, object] = {}
    kinds = {name: kind for name, kind, _, _ in OPTIONS}
    if config:
        for name, value in _toml(config).items():
            key = name.replace("-", "_")
            if key not in kinds:
                raise SettingsError(f"{config}: unknown key {name!r}; see --help for the options")
            values[key] = convert(key, kinds[key], value, f"{config}: {name}")
    for name, kind in kinds.items():
        variable = f"COLLECTOR_{name.upper()}"
        if variable in environ:
            values[name] = convert(name, kind, environ[variable], variable)
    for name, value in flags.items():
        if name in kinds and value is not None:
            values[name] = convert(name, kinds[name], value, f"--{name.replace('_', '-')}")
    return Settings(values)


def _toml(path: str) -> dict[str, object]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"--config {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"--config {path}: {error}") from None


def secret(text: str | None, path: str | None, option: str) -> str | None:
    """A token given directly or by file; raises SettingsError when the file is no use."""
    if text:
        return text.strip()
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--{option} {path}: {getattr(error, 'strerror', error)}") from None
    if not found:
        raise SettingsError(f"--{option} {path}: the file is empty")
    return found


def server_token(settings: Settings) -> str:
    """The token clients must show; made once in the data folder when none is given."""
    given = secret(settings.token, settings.token_file, "token-file")
    if given:
        return given
    path = os.path.join(settings.data_dir, "token")
    if not os.path.exists(path):
        import secrets

        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    return secret(None, path, "token-file") or ""
