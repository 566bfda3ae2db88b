"""Instants in recorded files. A time without zone is an instant only with a zone from outside."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from collector.formats import FormatError

_ISO = re.compile(
    r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})"
    r"(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?",
    re.ASCII | re.IGNORECASE,
)
_CTIME = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2})\s+(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})",
    re.ASCII,
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
EARLIEST, LATEST = 0.0, 7258118400.0  # 1970 to 2199: what lies outside is no reading of a card


class NoZone(FormatError):
    """The time has no zone and none was given."""


def zone(name: str | None) -> tzinfo | None:
    """A zone by IANA name, ``UTC``, or an offset like ``+08:00``."""
    if not name:
        return None
    if re.fullmatch(r"[+-]\d{2}:\d{2}", name):
        return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise FormatError(
            f"--timezone {name}: not a known zone; write for example Asia/Shanghai or +08:00"
        ) from None


def instant(text: str, local: tzinfo | None = None) -> float:
    """Unix time of ISO-like text, ``ctime`` text, unix seconds or unix milliseconds."""
    return in_years(_instant(text.strip(), local), text)


def in_years(at: float, text: str) -> float:
    """The unix time itself; FormatError when it lies outside the years 1970 to 2199."""
    if not EARLIEST <= at < LATEST:
        raise FormatError(f"time {text.strip()!r}: outside the years 1970 to 2199")
    return at


def _instant(text: str, local: tzinfo | None) -> float:
    try:
        if match := _ISO.fullmatch(text):
            year, month, day, hour, minute, second, fraction, offset = match.groups()
            parts = (year, month, day, hour or 0, minute or 0, second or 0)
            whole = _moment(parts, _offset(offset) or local, text)
            return whole + (float(f"0.{fraction}") if fraction else 0.0)
        if match := _CTIME.fullmatch(text):
            name, day, hour, minute, second, year = match.groups()
            parts = (year, _MONTHS.index(name) + 1, day, hour, minute, second)
            return _moment(parts, local, text)
        number = float(text) if re.fullmatch(r"\d{9,16}(?:\.\d+)?", text, re.ASCII) else None
    except (ValueError, OverflowError, OSError):
        number = None
    if number is None:
        raise FormatError(
            f"time {text!r}: write ISO 8601 like 2026-05-01T10:00:00+08:00, or unix seconds"
        )
    return number / 1e6 if number > 1e14 else number / 1e3 if number > 1e11 else number


def _offset(text: str | None) -> tzinfo | None:
    if not text:
        return None
    if text.upper() in ("Z", "UTC"):
        return UTC
    sign = text if ":" in text else f"{text[:3]}:{text[3:]}"
    return datetime.fromisoformat(f"2000-01-01T00:00:00{sign}").tzinfo


def _moment(parts: tuple, local: tzinfo | None, text: str) -> float:
    if local is None:
        raise NoZone(f"time {text!r} has no zone: give --timezone, for example Asia/Shanghai")
    year, month, day, hour, minute, second = (int(part) for part in parts)
    return datetime(year, month, day, hour, minute, second, tzinfo=local).timestamp()
