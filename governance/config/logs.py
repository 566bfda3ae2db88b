"""How a log line looks: one line for a person, or one JSON object for a collector of logs.

Tracebacks are plain: local variables may hold secrets.
"""

from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.processors import JSONRenderer, format_exc_info
from structlog.types import EventDict, WrappedLogger

_person = ConsoleRenderer(colors=False, exception_formatter=plain_traceback)
_machine = JSONRenderer()


def plain_line(logger: WrappedLogger, name: str, event: EventDict) -> str:
    """For a person at a terminal or in a log file."""
    return _person(logger, name, event)


def json_line(logger: WrappedLogger, name: str, event: EventDict) -> str | bytes:
    """For a collector of logs, the traceback as text."""
    return _machine(logger, name, format_exc_info(logger, name, event))
