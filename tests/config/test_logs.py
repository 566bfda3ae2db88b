"""Log lines: whole, and without the values of local variables."""

import json
import logging
from collections.abc import Callable

import pytest
from structlog.stdlib import ProcessorFormatter

from governance.config import logs


def line(render: Callable[..., str | bytes]) -> str:
    """A failure as it is logged."""
    password = "hidden" + "-in-a-local"
    try:
        raise ValueError("too short")
    except ValueError as error:
        record = logging.LogRecord(
            "governance", logging.ERROR, __file__, 1, "refused", None, (type(error), error, None)
        )
        record.exc_info = (type(error), error, error.__traceback__)
    assert password
    return ProcessorFormatter(processor=render).format(record)


@pytest.mark.parametrize("render", [logs.plain_line, logs.json_line])
def test_a_traceback_tells_what_failed_but_no_local_value(
    render: Callable[..., str | bytes],
) -> None:
    text = line(render)
    assert "ValueError: too short" in text
    assert "hidden-in-a-local" not in text


def test_a_json_line_is_one_object() -> None:
    text = line(logs.json_line)
    assert "\n" not in text
    assert "ValueError: too short" in json.dumps(json.loads(text))
