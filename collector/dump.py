"""``parse``: a dump or recorded series as a samples page.

A dump has no agent: its page has the agent ``parse`` and the epoch of its contents, so that the
same file always gives the same page but for ``now``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from collector.fold import fold
from collector.formats import FORMATS, FormatError
from collector.formats.times import instant
from collector.model import COLUMNS, LOST, OK, Card, Reading
from collector.page import FORMAT, iso


def reader_of(form: str) -> Callable[..., Iterator[tuple[float, Card, Reading | dict]]]:
    """The reader of a format: ``reader(lines, **options)``."""
    module, name = FORMATS[form]
    return getattr(importlib.import_module(f"collector.formats.{module}"), name)


def page_of(path: str, form: str, at: str | None, options: dict[str, object]) -> str:
    """The page as JSON text. Raises FormatError with file and line."""
    shown = "standard input" if path == "-" else path
    try:
        if path == "-":
            with open(0, encoding="utf-8-sig", newline="", closefd=False) as file:
                return _page(file, time.time(), form, at, options)
        with open(path, encoding="utf-8-sig", newline="") as file:
            return _page(file, os.path.getmtime(path), form, at, options)
    except OSError as error:
        raise FormatError(f"{shown}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{shown}: not UTF-8 text") from None
    except FormatError as error:
        raise FormatError(f"{shown}: {error}") from None


def _page(file: TextIO, taken: float, form: str, at: str | None, options: dict[str, object]) -> str:
    stated = instant(at) if at else None
    triples = reader_of(form)(file, at=stated, taken=taken, **options)
    readings: dict[tuple[tuple, int], list[tuple[float, Reading]]] = {}
    rows: dict[tuple[tuple, int], dict[str, object]] = {}
    cards: dict[tuple, Card] = {}
    states: dict[tuple, tuple[str, float]] = {}
    for moment, card, item in triples:
        cards.setdefault(card.key, card)
        key = (card.key, int(moment // 60) * 60)
        if isinstance(item, dict):
            rows[key] = item
            continue
        readings.setdefault(key, []).append((moment, item))
        state = LOST if LOST in item.reasons else OK
        if states.get(card.key, ("",))[0] != state:
            states[card.key] = (state, moment)
    if not cards:
        raise FormatError("no readings in it")
    for key, entries in readings.items():
        rows[key] = fold(sorted(entries, key=lambda entry: entry[0]))
    place = {key: number for number, key in enumerate(cards)}
    ordered = sorted(rows, key=lambda key: (key[1], place[key[0]]))
    columns = {
        "seq": list(range(1, len(ordered) + 1)),
        "card": [place[card] for card, _ in ordered],
        "minute": [minute for _, minute in ordered],
        **{name: [rows[key].get(name) for key in ordered] for name in COLUMNS},
    }
    body = json.dumps(columns, allow_nan=False)
    epoch = hashlib.sha256(body.encode()).hexdigest()[:16]
    page = {
        "format": FORMAT,
        "agent": "parse",
        "epoch": epoch,
        "first": 1 if ordered else None,
        "next": f"{epoch}:{len(ordered)}",
        "more": False,
        "now": iso(time.time()),
        "node": options.get("node"),
        "cards": [
            _entry(card, states.get(card.key, (OK, ordered[0][1]))) for card in cards.values()
        ],
        "columns": columns,
        "gaps": [],
        "health": {},
    }
    return json.dumps(page, allow_nan=False, ensure_ascii=False)


def _entry(card: Card, state: tuple[str, float]) -> dict[str, object]:
    return {
        "vendor": card.vendor,
        "uuid": card.uuid,
        "parent": card.parent,
        "model": card.model,
        "index": card.index,
        "state": state[0],
        "state_since": iso(state[1]),
        "simulated": card.simulated,
        "labels": card.labels,
    }
