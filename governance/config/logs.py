"""How a log line looks: one line for a person, or one JSON object for a collector of logs."""

from structlog.dev import ConsoleRenderer
from structlog.processors import JSONRenderer

plain_line = ConsoleRenderer(colors=False)
json_line = JSONRenderer()
