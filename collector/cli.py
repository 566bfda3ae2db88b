"""The command line: ``run``, ``once``, ``doctor``, ``parse``."""

from __future__ import annotations

import argparse
import io
import sys

from collector import __version__
from collector.formats import FORMATS, FormatError
from collector.settings import OPTIONS, Settings, SettingsError, load
from collector.sources import Unavailable

COMMANDS = {
    "run": "sample, keep and serve until stopped",
    "once": "print one reading of every card as JSON",
    "doctor": "say what was found, which source each card gets and why",
    "parse": "turn a dump or recorded series into a samples page on standard output",
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="collector",
        description="Reads accelerator cards, keeps one row per card and minute, serves or pushes"
        " them. Every option may also be COLLECTOR_NAME in the environment or a key of the TOML"
        " file given by --config.",
        epilog="Example: python -m collector run --bind 0.0.0.0:9465 --token-file /etc/token",
    )
    top.add_argument("--version", action="version", version=f"collector {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.add_argument("--config", metavar="FILE", help="TOML file of options")
        if name == "parse":
            command.add_argument("file", metavar="FILE", help="the dump; - reads standard input")
            command.add_argument("--format", choices=FORMATS, required=True)
            command.add_argument("--at", metavar="TIME", help="when the dump was taken, ISO 8601")
        _add_options(command)
    return top


def _add_options(command: argparse.ArgumentParser) -> None:
    for name, kind, default, text in OPTIONS:
        flag = f"--{name.replace('_', '-')}"
        shown = text if default in (None, False) else f"{text} [{default}]"
        shown = shown.replace("%", "%%")
        if kind == "flag":
            command.add_argument(
                flag,
                dest=name,
                action=argparse.BooleanOptionalAction,
                default=None,
                help=shown,
            )
        elif name == "shift_to_now":
            command.add_argument(flag, dest=name, nargs="?", const="start", help=shown)
        else:
            command.add_argument(flag, dest=name, metavar=kind.upper(), help=shown)


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 done, 1 input refused, 2 wrong usage."""
    given = vars(parser().parse_args(arguments))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON is UTF-8, whatever the locale says
    try:
        settings = load(given, given["config"])
    except SettingsError as error:
        print(f"collector: {error}", file=sys.stderr)
        return 2
    try:
        if given["command"] == "run":
            return run(settings)
        if given["command"] == "parse":
            return parse(settings, given["file"], given["format"], given["at"])
        from collector.doctor import doctor, once

        return (once if given["command"] == "once" else doctor)(settings)
    except (FormatError, SettingsError, Unavailable) as error:
        print(f"collector: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1


def series_options(settings: Settings) -> dict[str, object]:
    """The options that describe a recorded series."""
    names = ("columns", "scale", "timezone", "card", "node", "metric_source")
    return {name: getattr(settings, name) for name in names}


def run(settings: Settings) -> int:
    """Run the agent until SIGTERM or SIGINT."""
    from collector.agent import Agent
    from collector.log import log

    source = open_source(settings)
    agent = Agent(settings, _spool(settings), source)
    pusher = None
    if settings.push_url:
        from collector.push import Pusher

        pusher = Pusher(agent, settings)
    server = _serve(settings, agent)
    if pusher:
        pusher.start()
    agent.run_until_signalled()
    if server:
        server.close()
    agent.shut_down()
    log("stopped")
    return 0


def _spool(settings: Settings):
    import sqlite3

    from collector.spool import Spool, SpoolBusy

    try:
        return Spool(
            settings.data_dir,
            fsync=settings.fsync,
            max_age_s=settings.keep_days * 86400,
            max_bytes=int(settings.keep_mib * 2**20),
        )
    except SpoolBusy as error:
        raise SettingsError(f"--data-dir: {error}") from None
    except OSError as error:
        raise SettingsError(f"--data-dir {settings.data_dir}: {error.strerror}") from None
    except sqlite3.Error as error:
        raise SettingsError(f"--data-dir {settings.data_dir}: spool.sqlite: {error}") from None


def _serve(settings: Settings, agent):
    if settings.bind == "none":
        return None
    from collector.log import log
    from collector.routes import Routes
    from collector.settings import server_token
    from collector.web import Server

    tls = _tls(settings)
    try:
        server = Server(settings.bind, Routes(agent, server_token(settings)), tls=tls)
    except ValueError as error:
        raise SettingsError(f"--bind {error}") from None
    except OSError as error:
        raise SettingsError(f"--bind {settings.bind}: {error.strerror or error}") from None
    scheme = "https" if tls else "http"
    host = f"[{server.address[0]}]" if ":" in server.address[0] else server.address[0]
    log(f"serving on {scheme}://{host}:{server.address[1]}, agent {agent.spool.agent}")
    return server


def _tls(settings: Settings):
    if not (settings.tls_cert or settings.tls_key):
        if settings.client_ca:
            raise SettingsError("--client-ca needs --tls-cert and --tls-key")
        return None
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.tls_cert or settings.tls_key, settings.tls_key)
        if settings.client_ca:
            context.load_verify_locations(settings.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"--tls-cert, --tls-key, --client-ca: {error}") from None
    return context


def open_source(settings: Settings):
    """The source that ``--source`` names."""
    name, _, path = settings.source.partition(":")
    if name == "replay":
        from collector.sources.replay import Replay, load_events, parse_speed

        if not path:
            raise SettingsError("--source replay needs a file: replay:FILE")
        if settings.loop and settings.replay_speed == "max" and not settings.shift_to_now:
            raise SettingsError("--loop at --replay-speed max never ends: add --shift-to-now")
        return Replay(
            path,
            load_events(path, series_options(settings)),
            speed=parse_speed(settings.replay_speed),
            loop=settings.loop,
            shift=settings.shift_to_now,
        )
    from collector.sources.choose import live_source

    return live_source(settings)


def parse(settings: Settings, path: str, form: str, at: str | None) -> int:
    """Print a dump or series as a samples page."""
    from collector.dump import page_of

    sys.stdout.write(page_of(path, form, at, series_options(settings)) + "\n")
    return 0
