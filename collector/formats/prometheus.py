"""Prometheus text: samples as (name, labels, value, time)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from collector.formats import FormatError
from collector.formats.times import in_years

_SAMPLE = re.compile(
    r"([a-zA-Z_:][\w:]*)\s*(?:\{(.*)\})?\s*(\S+)(?:\s+(-?\d+(?:\.\d+)?))?\s*", re.ASCII
)
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)', re.ASCII)
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

Sample = tuple[str, dict[str, str], str, float | None]


def read_samples(lines: Iterable[str]) -> Iterator[Sample]:
    """``(name, labels, value text, unix time or None)`` of each sample line.

    The value stays text, so that whole numbers keep all digits and a value that is no number
    (``[N/A]``) costs only its own figure. Raises FormatError with the line.
    """
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(text)
        if match is None:
            raise FormatError(f"line {number}: not a sample NAME{{LABELS}} VALUE: {text[:60]!r}")
        name, labels, value, stamp = match.groups()
        yield name, _labels(labels or "", number), value, _time(stamp, number)


def _labels(text: str, number: int) -> dict[str, str]:
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _LABEL.match(text, place)
        if match is None:
            raise FormatError(f"line {number}: labels cannot be read from {text[place:][:40]!r}")
        found[match.group(1)] = re.sub(
            r"\\.", lambda m: _ESCAPES.get(m.group(), m.group()), match.group(2)
        )
        place = match.end()
    return found


def _time(stamp: str | None, number: int) -> float | None:
    """Times are in ms; some exporters write seconds, which as ms would lie before 1973."""
    if stamp is None:
        return None
    value = float(stamp)
    try:
        return in_years(value if abs(value) < 1e11 else value / 1000, stamp)
    except FormatError as error:
        raise FormatError(f"line {number}: {error}") from None
