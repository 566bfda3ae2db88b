"""Our own recorded form: JSON lines, each a reading (``at``) or a folded row (``minute``).

``{"at": ISO or unix, "card": {"vendor", "uuid", "model", "index", "parent"}, "source", ...}``
carries fields of a reading; ``{"minute": ..., "card": ..., "samples", "bandwidth_mean", ...}``
columns of a row. Keys not known are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from collector.fold import BINS
from collector.formats import FormatError
from collector.formats.times import instant, zone
from collector.model import COLUMNS, FIDELITY, UNKNOWN, Card, Reading, plain

_TEXT = ("source", "throttle", "processes", "reasons")
_SHARES = ("bandwidth", "clock_ratio", "gpu_duty", "memory_duty", "sm", "tensor")
_ROW_SHARES = (
    *(f"bandwidth_{name}" for name in ("mean", "active_mean", "max", "p95")),
    *("clock_ratio", "gpu_duty_mean", "memory_duty_mean", "sm_mean", "tensor_mean"),
)


def read_jsonl(
    lines: Iterable[str],
    *,
    timezone: str | None = None,
    metric_source: str | None = None,
    simulated: bool = False,
    **_: object,
) -> Iterator[tuple[float, Card, Reading | dict[str, object]]]:
    """Readings, or rows as dictionaries of COLUMNS, in the order of the file."""
    local = zone(timezone)
    cards: dict[str, Card] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if "\\u" in line and not _is_plain(line, entry):
                raise FormatError("text with a NUL sign or half of a surrogate pair")
            if not isinstance(entry, dict):
                raise FormatError("expected an object")
            card = _card(entry.get("card"), cards, simulated)
            stamp = entry.get("at", entry.get("minute"))
            if stamp is None:
                raise FormatError("needs at (a reading) or minute (a row)")
            at = instant(str(stamp), local)
            if metric_source:
                entry["source"] = metric_source
            if entry.get("source", UNKNOWN) not in FIDELITY:
                raise FormatError(f"source must be one of {', '.join(FIDELITY)}")
            yield at, card, _row(entry) if "minute" in entry else _reading(entry)
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        except (ValueError, TypeError) as error:
            raise FormatError(f"line {number}: not a JSON object of a reading ({error})") from None


def _card(entry: object, cards: dict[str, Card], simulated: bool) -> Card:
    facts = {"uuid": entry} if isinstance(entry, str) else entry
    if not (isinstance(facts, dict) and isinstance(facts.get("uuid"), str) and facts["uuid"]):
        raise FormatError("card must be a uuid or an object with a uuid")
    for name in ("vendor", "model", "parent"):
        if not isinstance(facts.get(name), str | None):
            raise FormatError(f"card: {name} must be text or null")
    key = json.dumps(facts, sort_keys=True)
    if key not in cards:
        index = facts.get("index")
        cards[key] = Card(
            facts.get("vendor") or "other",
            facts["uuid"],
            model=facts.get("model"),
            index=index if isinstance(index, int) else None,
            parent=facts.get("parent"),
            simulated=simulated or facts.get("simulated") is True,
        )
    return cards[key]


def _reading(entry: dict[str, Any]) -> Reading:
    reading = Reading(str(entry.get("source", UNKNOWN)))
    for name in Reading.FIELDS:
        value = entry.get(name)
        if value is None or name in _TEXT:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FormatError(f"{name} must be a number or null")
        low, high = -100 if name == "temperature_c" else 0, 1 if name in _SHARES else 1e18
        if not low <= value <= high:  # false for NaN too
            reading.because(f"{name}:out_of_range")
        else:
            setattr(reading, name, value)
    if isinstance(entry.get("throttle"), list):
        reading.throttle = tuple(str(name) for name in entry["throttle"])
    if isinstance(entry.get("processes"), list):
        reading.processes = entry["processes"]
    if isinstance(entry.get("reasons"), list):
        reading.because(*(str(code) for code in entry["reasons"]))
    return reading


def _row(entry: dict[str, Any]) -> dict[str, object]:
    row = {name: entry.get(name) for name in COLUMNS}
    row["source"] = entry.get("source", UNKNOWN)
    row["fidelity"] = FIDELITY[str(row["source"])]
    if row["samples"] is None:
        raise FormatError("a row needs samples, a whole number")
    for name, kind in COLUMNS.items():
        if row[name] is not None and (wanted := _wrong(name, kind, row[name])):
            raise FormatError(f"{name} must be {wanted}")
    return row


def _wrong(name: str, kind: str, value: object) -> str | None:
    """What a column's figure should have been, None where it is right."""
    if kind == "TEXT":
        return None if isinstance(value, str) else "text"
    if kind == "JSON" and name == "processes":
        right = isinstance(value, list) and all(isinstance(owner, dict) for owner in value)
        return None if right else "a list of objects"
    if kind == "JSON":
        right = isinstance(value, list) and len(value) == BINS and all(map(_is_count, value))
        return None if right else f"a list of {BINS} whole numbers"
    if kind == "INTEGER":
        return None if _is_count(value) else "a whole number"
    low, high = -100 if name == "temperature_c_max" else 0, 1 if name in _ROW_SHARES else 1e18
    if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
        return None
    return f"a number from {low:g} to {high:g}"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_plain(line: str, entry: object) -> bool:
    text = json.dumps(entry, ensure_ascii=False)
    return "\\u0000" not in line and plain(text) == text
