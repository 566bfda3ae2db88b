"""Size a service from a log of requests: when each came, tokens in, tokens out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from .model import ModelShape

TIMES = ("timestamp", "time", "arrived_at", "t")
INPUTS = ("input_length", "contexttokens", "prompt_tokens", "tokens_in", "num_prefill_tokens")
OUTPUTS = (
    "output_length",
    "generatedtokens",
    "completion_tokens",
    "tokens_out",
    "num_decode_tokens",
)


class BadTrace(ValueError):
    """A log that cannot be read, with the place."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request: seconds from the first one, tokens."""

    at: float
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Sizing:
    """What the log asks of a service. Rates are per second."""

    requests: int
    tokens_in: int
    tokens_out: int
    mean_in: float
    mean_out: float
    median_in: float
    median_out: float
    seconds: float
    mean_rate: float
    peak_rate: float
    mean_concurrency: float
    peak_concurrency: int
    peak_kv_tokens: int
    peak_kv_bytes: float | None
    egress_mbit: float


def read_trace(text: str) -> list[Call]:
    """Calls of a JSON-lines or CSV log, in order of time. Times are ISO 8601, seconds, or
    milliseconds where `timestamp` is a whole number in JSON lines (as in public traces)."""
    lines = text.lstrip("\ufeff").lstrip()
    rows = _json_rows(lines) if lines.startswith("{") else _csv_rows(lines)
    found = [(_when(at, place), i, o) for place, at, i, o in rows]
    if not found:
        raise BadTrace("no request in this log")
    first = min(at for at, _, _ in found)
    return sorted(
        (Call(at - first, tokens_in, tokens_out) for at, tokens_in, tokens_out in found),
        key=lambda call: call.at,
    )


def _json_rows(text: str) -> Iterable[tuple[str, object, int, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise BadTrace(f"line {number}: not a JSON object") from None
        if not isinstance(row, dict):
            raise BadTrace(f"line {number}: not a JSON object")
        at, tokens_in, tokens_out = _cells(row, number)
        if isinstance(at, int):
            at = at / 1000.0
        yield f"line {number}", at, tokens_in, tokens_out


def _csv_rows(text: str) -> Iterable[tuple[str, object, int, int]]:
    reader = csv.DictReader(io.StringIO(text))
    for row in reader:
        at, tokens_in, tokens_out = _cells(row, reader.line_num)
        yield f"line {reader.line_num}", at, tokens_in, tokens_out


def _cells(row: Mapping[str, object], line: int) -> tuple[object, int, int]:
    plain = {str(key).strip().lower(): value for key, value in row.items()}

    def first(names: Sequence[str]) -> object:
        for name in names:
            if plain.get(name) not in (None, ""):
                return plain[name]
        raise BadTrace(f"line {line}: none of the columns {', '.join(names)}")

    try:
        tokens_in, tokens_out = int(str(first(INPUTS))), int(str(first(OUTPUTS)))
    except ValueError as error:
        if isinstance(error, BadTrace):
            raise
        raise BadTrace(f"line {line}: a token count is no whole number") from None
    if tokens_in < 0 or tokens_out < 0:
        raise BadTrace(f"line {line}: a token count is below 0")
    return first(TIMES), tokens_in, tokens_out


def _when(value: object, place: str) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip()
    try:
        return float(text)
    except ValueError:
        pass
    try:
        head, _, part = text.partition(".")
        return datetime.fromisoformat(f"{head}.{part[:6]}" if part else head).timestamp()
    except ValueError:
        raise BadTrace(f"{place}: “{text[:40]}” is no time") from None


def size(
    calls: Sequence[Call],
    *,
    stream_rate: float = 30.0,
    first_token_s: float = 0.5,
    bytes_per_event: float = 200.0,
    headroom: float = 1.5,
    model: ModelShape | None = None,
    window_s: float = 60.0,
) -> Sizing:
    """Rates, concurrency, cache and egress that the log asks for when each answer streams at
    `stream_rate` tokens/s after `first_token_s` seconds. A request holds its whole context in the
    cache while it runs; the peak rate is over any `window_s` seconds."""
    if not calls:
        raise BadTrace("no request in this log")
    seconds = calls[-1].at - calls[0].at
    held = [first_token_s + call.tokens_out / stream_rate for call in calls]
    peak, cache = _peaks(calls, held)
    span = max(seconds, 1.0)
    tokens_in = sum(call.tokens_in for call in calls)
    tokens_out = sum(call.tokens_out for call in calls)
    return Sizing(
        requests=len(calls),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        mean_in=tokens_in / len(calls),
        mean_out=tokens_out / len(calls),
        median_in=median(call.tokens_in for call in calls),
        median_out=median(call.tokens_out for call in calls),
        seconds=seconds,
        mean_rate=len(calls) / span,
        peak_rate=_busiest(calls, min(window_s, span)),
        mean_concurrency=sum(held) / span,
        peak_concurrency=peak,
        peak_kv_tokens=cache,
        peak_kv_bytes=None if model is None else cache * model.kv_bytes,
        egress_mbit=peak * stream_rate * bytes_per_event * 8 / 1e6 * headroom,
    )


def _peaks(calls: Sequence[Call], held: Sequence[float]) -> tuple[int, int]:
    events: list[tuple[float, int, int]] = []
    for call, duration in zip(calls, held, strict=True):
        tokens = call.tokens_in + call.tokens_out
        events += [(call.at, 1, tokens), (call.at + duration, -1, -tokens)]
    events.sort()
    running = tokens = most = largest = 0
    for _, change, held_tokens in events:
        running += change
        tokens += held_tokens
        most, largest = max(most, running), max(largest, tokens)
    return most, largest


def _busiest(calls: Sequence[Call], window: float) -> float:
    most = first = 0
    for last, call in enumerate(calls):
        while calls[first].at <= call.at - window:
            first += 1
        most = max(most, last - first + 1)
    return most / window
