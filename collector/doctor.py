"""``once`` and ``doctor``: what the agent would read here, without a spool."""

from __future__ import annotations

import json
import time

from collector.model import FIDELITY, Card, Reading
from collector.page import iso
from collector.settings import Settings
from collector.sources import Unavailable


def once(settings: Settings) -> int:
    """Print one reading of every card as JSON. Status 1 when nothing can be read."""
    at, batch, trouble = take(settings)
    document = {
        "at": iso(at),
        "error": trouble,
        "cards": [
            {
                "vendor": card.vendor,
                "uuid": card.uuid,
                "parent": card.parent,
                "model": card.model,
                "index": card.index,
                "simulated": card.simulated,
                "fidelity": FIDELITY[reading.source] if isinstance(reading, Reading) else None,
                **figures(reading),
            }
            for card, reading in batch
        ],
    }
    print(json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2))
    return 1 if trouble else 0


def figures(reading: Reading | dict) -> dict[str, object]:
    """A reading's fields for people and scripts."""
    if isinstance(reading, dict):
        return reading
    return {name: getattr(reading, name) for name in Reading.FIELDS}


def take(settings: Settings) -> tuple[float, list[tuple[Card, Reading]], str | None]:
    """The first whole reading: rates and GPM need two polls, so two are taken."""
    from collector.cli import open_source

    source = open_source(settings)
    if hasattr(source, "first"):
        return source.first()
    try:
        before = {card.key: reading for card, reading in source.poll(time.time())}
        time.sleep(max(0.25, min(settings.interval, 2.0)))
        at = time.time()
        batch = source.poll(at)
        for card, reading in batch:
            if card.key in before:
                fill(reading, before[card.key])
        return at, batch, None
    except Unavailable as error:
        return time.time(), [], str(error)
    finally:
        source.close()


def fill(reading: Reading, before: Reading) -> None:
    """Take what is read every few ticks only from the reading before."""
    for name in Reading.FIELDS:
        if getattr(reading, name) is None:
            setattr(reading, name, getattr(before, name))


def doctor(settings: Settings) -> int:
    """Say in words what was found. Status 1 when nothing can be read."""
    _, batch, trouble = take(settings)
    print(f"source: {settings.source}")
    if trouble:
        print(f"nothing can be read: {trouble}")
        return 1
    for card, reading in batch:
        print(f"{card.vendor} {card.uuid} ({card.model or 'model not told'})")
        if isinstance(reading, Reading):
            print(f"  bandwidth: {reading.source} ({FIDELITY[reading.source]})")
            print(f"  because: {', '.join(reading.reasons) or 'it is the best there is'}")
    return 0
