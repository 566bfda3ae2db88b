"""The samples page: what ``GET /v1/samples`` answers and a push carries.

Built column by column from the reader connection, so that a page of thousands of rows never
stands in memory as objects. docs/collector.md describes the document.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

from collector.model import COLUMNS
from collector.spool import Spool

FORMAT = 1
LIMIT, MAX_LIMIT = 1000, 5000


class Page:
    """A page as JSON text, with what its sender needs to know of it."""

    __slots__ = ("body", "empty", "more", "next", "rows")

    def __init__(self, body: bytes, cursor: str, *, more: bool, rows: int, empty: bool) -> None:
        self.body = body
        self.next = cursor
        self.more = more
        self.rows = rows
        self.empty = empty


class BadCursor(Exception):
    """The cursor cannot be read; the text says what would be right."""


def iso(at: float) -> str:
    """Unix time as ISO 8601 in UTC, milliseconds where there are any."""
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace(
        "+00:00", "Z"
    )


def parse_cursor(text: str | None) -> tuple[str | None, int]:
    """``EPOCH:SEQ`` as a pair; (None, 0) without a cursor."""
    if not text:
        return None, 0
    epoch, colon, seq = text.partition(":")
    readable = colon and text.isascii() and epoch.isalnum() and seq.isdigit() and len(seq) < 19
    if not readable:
        raise BadCursor("after must be a cursor EPOCH:SEQ as given in next, or be left out")
    return epoch, int(seq)


def build(
    spool: Spool,
    after: str | None = None,
    limit: int = LIMIT,
    health: dict[str, object] | None = None,
    without: frozenset[str] = frozenset(),
) -> Page:
    """The page behind the cursor ``after``, leaving the columns ``without`` out.

    Raises BadCursor. A cursor of another epoch starts at the oldest row; one ahead of the spool
    means that the store was rolled back, and begins a new epoch.
    """
    epoch, seq = parse_cursor(after)
    with spool.read_lock:
        newest = _newest(spool)
    if epoch == spool.epoch and seq > newest:
        spool.new_epoch()
    new_epoch = epoch is not None and epoch != spool.epoch
    if new_epoch:
        seq = 0
    with spool.read_lock:
        spool.read("BEGIN")
        try:
            return _assemble(spool, seq, max(1, min(limit, MAX_LIMIT)), new_epoch, health, without)
        finally:
            spool.read("COMMIT")


def _assemble(
    spool: Spool,
    after: int,
    limit: int,
    new_epoch: bool,
    health: dict[str, object] | None,
    without: frozenset[str],
) -> Page:
    now = spool.clock()
    newest = _newest(spool)
    first, last, count = spool.read(
        "SELECT min(seq), max(seq), count(*) FROM"
        " (SELECT seq FROM row WHERE seq > ? ORDER BY seq LIMIT ?)",
        (after, limit),
    )[0]
    more = count == limit and bool(spool.read("SELECT 1 FROM row WHERE seq > ? LIMIT 1", (last,)))
    until = last if more else max(newest, after)
    span = (after, until)
    gaps = spool.read(
        "SELECT start, stop, 'retention' FROM pruned WHERE last_seq > ? ORDER BY last_seq",
        (after,),
    )
    gaps += spool.read(
        "SELECT start, stop, reason FROM gap WHERE seq > ? AND seq <= ? ORDER BY seq",
        span,
    )
    if new_epoch:
        begun = int(spool.epoch[:-6], 16)
        gaps.append((begun, begun, "new_epoch"))
    cards = spool.read(
        "SELECT id, vendor, uuid, parent, model, idx, state, state_since, simulated, labels"
        " FROM card ORDER BY id"
    )
    place = {card[0]: number for number, card in enumerate(cards)}
    head = {
        "format": FORMAT,
        "agent": spool.agent,
        "epoch": spool.epoch,
        "first": first,
        "next": f"{spool.epoch}:{until}",
        "more": more,
        "now": iso(now),
        "node": os.uname().nodename,
        "cards": [_card(card) for card in cards],
        "gaps": [{"from": iso(a), "to": iso(b), "reason": reason} for a, b, reason in gaps],
        "health": health or {},
    }
    parts = [json.dumps(head, allow_nan=False, ensure_ascii=False)[:-1], ',"columns":{']
    names = ("seq", "card", "minute", *(name for name in COLUMNS if name not in without))
    for number, name in enumerate(names):
        values = spool.read(f"SELECT {name} FROM row WHERE seq > ? AND seq <= ? ORDER BY seq", span)
        if name == "card":
            text = json.dumps([place[value] for (value,) in values])
        elif COLUMNS.get(name) == "JSON":
            text = f"[{','.join(value or 'null' for (value,) in values)}]"
        else:
            text = json.dumps([value for (value,) in values], allow_nan=False, ensure_ascii=False)
        parts.append(f'{"," if number else ""}"{name}":{text}')
    parts.append("}}")
    return Page(
        "".join(parts).encode(),
        f"{spool.epoch}:{until}",
        more=more,
        rows=count,
        empty=count == 0 and not gaps,
    )


def _newest(spool: Spool) -> int:
    found = spool.read("SELECT value FROM meta WHERE key = 'seq'")
    return int(found[0][0]) if found else 0


def _card(card: tuple) -> dict[str, object]:
    _, vendor, uuid, parent, model, index, state, since, simulated, labels = card
    return {
        "vendor": vendor,
        "uuid": uuid,
        "parent": parent,
        "model": model,
        "index": index,
        "state": state,
        "state_since": iso(since),
        "simulated": bool(simulated),
        "labels": json.loads(labels),
    }
