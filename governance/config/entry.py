"""The door of `manage.py`: servers for the commands that need them, then the command."""

import os
import signal
import sys
from contextlib import ExitStack

from governance.config import env
from governance.plumbing.embedded import ServerError, ensure_servers
from governance.plumbing.supervisor import Occupied, reserve

SERVERLESS = {
    *("help", "version", "check", "messages", "collectstatic", "findstatic", "diffsettings"),
    *("predict", "preview_charges", "compare_plans", "spectacular"),
}
OFFERS_FROM_A_FILE = ("--offers", "--trace")
UNMIGRATED = {"migrate", "makemigrations", "showmigrations", "sqlmigrate", "restore"}


def needs_servers(arguments: list[str]) -> bool:
    """Whether a command line (without the program's name) can do anything without a database."""
    if not arguments or arguments[0].startswith("-") or {"-h", "--help"} & set(arguments):
        return False
    if arguments[0] == "match":
        return not any(word.split("=")[0] in OFFERS_FROM_A_FILE for word in arguments)
    return arguments[0] not in SERVERLESS


def main(argv: list[str]) -> None:
    """Run one command; ends the process with its exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            _prepare(stack, argv[1:])
            from django.core.management import execute_from_command_line

            execute_from_command_line(argv)
    except (ServerError, Occupied) as refused:
        sys.exit(str(refused))
    except KeyboardInterrupt:
        sys.exit(130)


def _prepare(stack: ExitStack, arguments: list[str]) -> None:
    if not needs_servers(arguments):
        return
    settings = env.load()
    if arguments[0] == "run":
        stack.enter_context(reserve(settings.data_dir, settings.port))
    servers = ensure_servers(
        settings.data_dir, database=not settings.database_url, broker=not settings.broker_url
    )
    os.environ.update(stack.enter_context(servers))
    if not settings.database_url and arguments[0] not in UNMIGRATED:
        import django

        django.setup()
        from governance.plumbing.schema import bring_up_to_date

        bring_up_to_date()


def _leave(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)
