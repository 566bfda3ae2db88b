"""Samples pages: from bytes to checked columns.

A page is refused whole (`PageFault`) when its frame is wrong: not JSON, another format, arrays of
different length, a required column missing, too large. Then nothing of it is stored and no cursor
moves. Inside a sound page a bad *row* is left out and counted by reason, and a figure out of its
range becomes unknown and is counted; the neighbours are kept.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

import orjson
import polars as pl

from governance.telemetry.domain.columns import REQUIRED, SMALL
from governance.telemetry.domain.rows import MAX_TEXT, WIRE, normalise, typed

MAX_ROWS = 100_000
MAX_CARDS = 4_096
MAX_GAPS = 1_000
VENDORS = ("nvidia", "ascend", "amd", "other")


class PageFault(ValueError):
    """A page that cannot be used at all; `code` says what is wrong with it."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class CardClaim:
    """A card as an agent names it. Identity is (vendor, uuid); the rest is for display."""

    vendor: str
    uuid: str
    parent: str | None = None
    model: str = ""
    index: int | None = None
    state: str = "ok"
    state_since: datetime | None = None
    simulated: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return (self.vendor, self.uuid)


@dataclass(frozen=True)
class GapClaim:
    """A stretch of time without rows, and why."""

    starts_at: datetime
    ends_at: datetime
    reason: str


@dataclass(frozen=True)
class Page:
    """A checked page. `rows` has the stored columns but with `card` (an index into `cards`)
    in place of the ids that only the database knows."""

    agent: str
    epoch: str
    next: str
    more: bool
    sent_at: datetime | None
    node: str
    version: str
    cards: Sequence[CardClaim]
    rows: pl.DataFrame
    gaps: Sequence[GapClaim]
    health: Mapping[str, object]
    rejected: Mapping[str, int]


def parse_page(body: bytes, *, now_minute: int, max_rows: int = MAX_ROWS) -> Page:
    """The page in `body` (JSON, already unpacked); raises `PageFault`."""
    return check_page(decode(body), now_minute=now_minute, max_rows=max_rows)


def decode(body: bytes) -> object:
    """The document in `body`; raises `PageFault` where it is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        code = "empty_payload" if not body.strip() else "not_json"
        raise PageFault(code, str(error)) from None


def check_page(document: object, *, now_minute: int, max_rows: int = MAX_ROWS) -> Page:
    """The page in a decoded document; raises `PageFault`."""
    [found] = check_pages([document], now_minute=now_minute, max_rows=max_rows)
    if isinstance(found, PageFault):
        raise found
    return found


def check_pages(
    documents: Sequence[object], *, now_minute: int, max_rows: int = MAX_ROWS
) -> list[Page | PageFault]:
    """Many documents at once, for each its page or its fault. The rows of all are checked in one
    go, so that a small page costs next to nothing; their pages hold slices of one frame."""
    answers: list[Page | PageFault] = []
    frames: list[_Frame] = []
    for document in documents:
        try:
            frames.append(_frame(document, max_rows))
            answers.append(_PENDING)
        except PageFault as fault:
            answers.append(fault)
    parts = iter(_split(frames, now_minute))
    return [next(parts) if answer is _PENDING else answer for answer in answers]


_PENDING = PageFault("pending", "its rows are not checked yet")


@dataclass(frozen=True)
class _Frame:
    """A document whose frame is sound; `columns` are lists of `height` unchecked cells."""

    document: Mapping[str, object]
    cards: Sequence[CardClaim]
    gaps: Sequence[GapClaim]
    columns: Mapping[str, list[object]]
    height: int
    rejected: Counter[str]


def _frame(document: object, max_rows: int) -> _Frame:
    if not isinstance(document, dict) or not document:
        raise PageFault("empty_payload", "the answer is not a samples page")
    if document.get("format") != 1 or isinstance(document.get("format"), bool):
        raise PageFault("format", f"format {document.get('format')!r} is not known; 1 is")
    for key in ("agent", "epoch", "next"):
        _text(document, key)
    cards = _cards(document.get("cards"))
    rejected: Counter[str] = Counter()
    gaps = _gaps(document.get("gaps"), rejected)
    columns, height = _columns(document.get("columns"), max_rows)
    return _Frame(document, cards, gaps, columns, height, rejected)


def _split(frames: Sequence[_Frame], now_minute: int) -> Iterator[Page]:
    """The pages of sound frames, in order."""
    if not frames:
        return
    lists = {
        name: list(
            chain.from_iterable(one.columns.get(name) or [None] * one.height for one in frames)
        )
        for name in WIRE
        if any(name in one.columns for one in frames)
    }
    frame, bad = typed(lists, sum(one.height for one in frames))
    heights = [one.height for one in frames]
    numbers = [number for number, height in enumerate(heights) for _ in range(height)]
    frame = frame.with_columns(
        pl.Series("page", numbers, dtype=pl.Int32),
        pl.Series("cards", [len(frames[number].cards) for number in numbers], dtype=pl.Int64),
    )
    rows = normalise(frame, bad, now_minute, [one.rejected for one in frames])
    left = dict(rows.group_by("page").len().iter_rows())
    rows, start = rows.drop("page"), 0
    for number, one in enumerate(frames):
        height = left.get(number, 0)
        yield _page(one, rows.slice(start, height))
        start += height


def _page(one: _Frame, rows: pl.DataFrame) -> Page:
    document = one.document
    health = document.get("health")
    return Page(
        agent=str(document["agent"]),
        epoch=str(document["epoch"]),
        next=str(document["next"]),
        more=document.get("more") is True,
        sent_at=instant(document.get("now")),
        node=str(document.get("node") or "")[:MAX_TEXT],
        version=str(document.get("version") or "")[:MAX_TEXT],
        cards=one.cards,
        rows=rows,
        gaps=one.gaps,
        health=health if isinstance(health, dict) else {},
        rejected=one.rejected,
    )


def instant(value: object) -> datetime | None:
    """An ISO 8601 time with offset, or None where it is not one."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def _text(document: Mapping[str, object], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value or len(value) > MAX_TEXT:
        raise PageFault("frame", f"{key} must be a text of 1 to {MAX_TEXT} characters")
    return value


def _cards(value: object) -> tuple[CardClaim, ...]:
    if not isinstance(value, list):
        raise PageFault("frame", "cards must be a list")
    if len(value) > MAX_CARDS:
        raise PageFault("too_large", f"{len(value)} cards; at most {MAX_CARDS}")
    return tuple(_card(item, place) for place, item in enumerate(value))


def _card(item: object, place: int) -> CardClaim:
    if not isinstance(item, dict):
        raise PageFault("frame", f"cards[{place}] must be an object")
    vendor, uuid = item.get("vendor"), item.get("uuid")
    if vendor not in VENDORS:
        raise PageFault("frame", f"cards[{place}].vendor must be one of {', '.join(VENDORS)}")
    if not isinstance(uuid, str) or not uuid or len(uuid) > MAX_TEXT:
        raise PageFault("frame", f"cards[{place}].uuid must be a text")
    parent, index, labels = item.get("parent"), item.get("index"), item.get("labels")
    state = item.get("state")
    return CardClaim(
        vendor=vendor,
        uuid=uuid,
        parent=parent[:MAX_TEXT] if isinstance(parent, str) and parent else None,
        model=str(item.get("model") or "")[:MAX_TEXT],
        index=index if type(index) is int and 0 <= index <= SMALL else None,
        state=state if state in ("ok", "lost", "absent") else "ok",
        state_since=instant(item.get("state_since")),
        simulated=item.get("simulated") is True,
        labels={str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {},
    )


def _gaps(value: object, rejected: Counter[str]) -> tuple[GapClaim, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_GAPS:
        raise PageFault("frame", f"gaps must be a list of at most {MAX_GAPS}")
    gaps = []
    for item in value:
        starts = instant(item.get("from")) if isinstance(item, dict) else None
        ends = instant(item.get("to")) if isinstance(item, dict) else None
        if starts is None or ends is None or ends < starts:
            rejected["gap"] += 1
        else:
            gaps.append(GapClaim(starts, ends, str(item.get("reason") or "unknown")[:MAX_TEXT]))
    return tuple(gaps)


def _columns(columns: object, max_rows: int) -> tuple[dict[str, list[object]], int]:
    if not isinstance(columns, dict):
        raise PageFault("frame", "columns must be an object")
    for name in REQUIRED:
        if name not in columns:
            raise PageFault("columns", f"the column {name} is missing")
    height = len(columns["seq"]) if isinstance(columns["seq"], list) else -1
    for name, values in columns.items():
        if name in WIRE and (not isinstance(values, list) or len(values) != height):
            raise PageFault("length", f"the column {name} is not a list of {height} values")
    if height > max_rows:
        raise PageFault("too_large", f"{height} rows; at most {max_rows}")
    return {name: values for name, values in columns.items() if name in WIRE}, height
