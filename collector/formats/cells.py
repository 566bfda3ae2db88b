"""Cells of text: figures with units, and the many ways tools say "no value".

A cell becomes a figure in base units (share 0..1, bytes, W, MHz, degrees C, bytes/s) or None with
a reason code; it is never read as zero because it could not be read.
"""

from __future__ import annotations

import math
import re

# Tokens met in real output, lower case and without brackets.
NO_VALUE = {
    "": "empty",
    "-": "not_available",
    "--": "not_available",
    "n/a": "not_available",
    "na": "not_available",
    "none": "not_available",
    "not available": "not_available",
    "not supported": "not_supported",
    "not active": "not_available",
    "unknown error": "unknown_error",
    "err!": "unknown_error",
    "error": "unknown_error",
    "insufficient permissions": "no_permission",
    "no permission": "no_permission",
    "requested functionality has been deprecated": "deprecated",
    "function not found": "function_not_found",
    "gpu is lost": "lost",
    "gpu requires reset": "reset_required",
    "gpu access blocked by the operating system": "lost",
    "reset required": "reset_required",
    "nan": "nan",
}
UNITS: dict[str, dict[str, float]] = {
    "share": {"%": 0.01, "percent": 0.01},
    "bytes": {
        "b": 1,
        "bytes": 1,
        "kb": 1e3,
        "mb": 1e6,
        "gb": 1e9,
        "kib": 2**10,
        "mib": 2**20,
        "gib": 2**30,
        "tib": 2**40,
    },
    "watts": {"w": 1, "mw": 1e-3, "kw": 1e3},
    "mhz": {"mhz": 1, "ghz": 1e3, "khz": 1e-3, "hz": 1e-6},
    "celsius": {"c": 1, "°c": 1, "degc": 1},
    "bytes_per_s": {
        "b/s": 1,
        "kb/s": 1e3,
        "mb/s": 1e6,
        "gb/s": 1e9,
        "kib/s": 2**10,
        "mib/s": 2**20,
        "gib/s": 2**30,
    },
    "count": {},
}
CEILING = {"share": 1.0, "bytes": 2**53, "watts": 1e5, "mhz": 1e5, "celsius": 1e3}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)", re.ASCII | re.DOTALL)


def quantity(text: str | None, kind: str, scale: float = 1.0) -> tuple[float | None, str | None]:
    """``(figure, None)`` or ``(None, reason code)``.

    ``scale`` turns a figure without a unit into the base unit; a unit in the cell wins over it.
    Out of the possible range (a share over 1, anything negative) is ``out_of_range``.
    """
    cell = (text or "").strip()
    token = cell.strip("[]()").strip().lower()
    if token in NO_VALUE:
        return None, NO_VALUE[token]
    match = _NUMBER.fullmatch(cell)
    if match is None:
        return None, "out_of_range" if token in (
            "inf",
            "-inf",
            "infinity",
        ) else "bad_number"
    unit = match.group(2).strip().lower()
    if unit:
        factor = UNITS[kind].get(unit)
        if factor is None:
            return None, "bad_unit"
    else:
        factor = scale
    return in_range(float(match.group(1)) * factor, kind)


def in_range(value: float | None, kind: str) -> tuple[float | None, str | None]:
    """Check a figure in base units: finite, not negative (degrees may be), not past its ceiling."""
    if value is None:
        return None, "not_available"
    if math.isnan(value):
        return None, "nan"
    low = -100.0 if kind == "celsius" else 0.0
    high = CEILING.get(kind, 1e18)
    if not low <= value <= high * (1 + 1e-9):
        return None, "out_of_range"
    value = min(value, high)
    if kind == "share":
        return round(value, 9), None  # 35 x 0.01 is 0.35000000000000003
    return (int(value) if kind in ("bytes", "count") else value), None
