"""Samples pages: from bytes to checked columns.

A page is refused whole (`PageFault`) when its frame is wrong: not JSON, another format, arrays of
different length, a required column missing, too large. Then nothing of it is stored and no cursor
moves. Inside a sound page a bad *row* is left out and counted by reason, and a figure out of its
range becomes unknown and is counted; the neighbours are kept.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

import orjson
import polars as pl

from governance.telemetry.domain.columns import (
    BANDWIDTH,
    FIGURES,
    MOST_SAMPLES,
    REQUIRED,
    SMALL,
    STORED,
    TEXTS,
    WEIGHTS,
    Figure,
)
from governance.telemetry.domain.sources import FIDELITY_OF, Fidelity, Source

MAX_ROWS = 100_000
MAX_CARDS = 4_096
MAX_GAPS = 1_000
MAX_TEXT = 200
CLOCK_AHEAD = 10
"""Minutes by which a row may lie ahead of the server's clock."""

FIRST_MINUTE = 23_667_840
"""2015-01-01: no row is older."""

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
        for name in _WIRE
        if any(name in one.columns for one in frames)
    }
    frame, bad = _typed(lists, sum(one.height for one in frames))
    heights = [one.height for one in frames]
    numbers = [number for number, height in enumerate(heights) for _ in range(height)]
    frame = frame.with_columns(
        pl.Series("page", numbers, dtype=pl.Int32),
        pl.Series("cards", [len(frames[number].cards) for number in numbers], dtype=pl.Int64),
    )
    rows = _normalise(frame, bad, now_minute, [one.rejected for one in frames])
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
        if name in _WIRE and (not isinstance(values, list) or len(values) != height):
            raise PageFault("length", f"the column {name} is not a list of {height} values")
    if height > max_rows:
        raise PageFault("too_large", f"{height} rows; at most {max_rows}")
    return {name: values for name, values in columns.items() if name in _WIRE}, height


_WHOLE = (
    "seq",
    "card",
    "minute",
    *WEIGHTS,
    "bandwidth_max_at",
    *(wire for figure in FIGURES if figure.whole for wire in figure.wire),
)
_WORDS = ("source", "fidelity", *TEXTS)
_SHARES = tuple(wire for figure in FIGURES if not figure.whole for wire in figure.wire)
_WIRE: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(_WHOLE, pl.Int64),
    **dict.fromkeys(_WORDS, pl.String),
    **dict.fromkeys(_SHARES, pl.Float64),
}


def _typed(
    lists: Mapping[str, list[object]], height: int
) -> tuple[pl.DataFrame, dict[str, list[bool]]]:
    """Lists as typed columns, and for each column with cells of another type which they are."""
    series: list[pl.Series] = []
    bad: dict[str, list[bool]] = {}
    for name, kind in _WIRE.items():
        values = lists.get(name)
        if values is None:
            series.append(pl.Series(name, [None] * height, dtype=kind))
            continue
        try:
            series.append(pl.Series(name, values, dtype=kind, strict=True))
        except (TypeError, OverflowError):
            fits = _FITS[kind]
            wrong = [not fits(value) for value in values]
            good = [None if no else value for value, no in zip(values, wrong, strict=True)]
            series.append(pl.Series(name, good, dtype=kind, strict=False))
            if any(wrong):
                bad[name] = wrong
    return pl.DataFrame(series), bad


def _fits_whole(value: object) -> bool:
    return value is None or (
        (type(value) is int or (type(value) is float and value.is_integer())) and abs(value) < 2**62
    )


def _fits_number(value: object) -> bool:
    return value is None or type(value) in (int, float)


def _fits_text(value: object) -> bool:
    return value is None or type(value) is str


_FITS: dict[type[pl.DataType], Callable[[object], bool]] = {
    pl.Int64: _fits_whole,
    pl.Float64: _fits_number,
    pl.String: _fits_text,
}

_SOURCE_CODES = {source.name.lower(): int(source) for source in Source}
_FIDELITY_CODES = {fidelity.name.lower(): int(fidelity) for fidelity in Fidelity}
_FIDELITY_OF = {int(source): int(fidelity) for source, fidelity in FIDELITY_OF.items()}


def _normalise(
    frame: pl.DataFrame,
    bad: Mapping[str, list[bool]],
    now_minute: int,
    rejected: Sequence[Counter[str]],
) -> pl.DataFrame:
    """Wire columns as stored columns; counts what was left out, by page."""
    frame = frame.with_columns(
        minute_at=pl.col("minute"),
        minute=pl.col("minute") // 60,
        source_code=pl.col("source").replace_strict(
            _SOURCE_CODES, default=None, return_dtype=pl.Int16
        ),
        fidelity_code=pl.col("fidelity").replace_strict(
            _FIDELITY_CODES, default=None, return_dtype=pl.Int16
        ),
        bandwidth_samples=pl.col("bandwidth_samples").fill_null(pl.col("samples")),
        bandwidth_active_samples=pl.coalesce("bandwidth_active_samples", "active_samples"),
    )
    frame = frame.with_columns(
        fidelity_code=pl.when(pl.col("fidelity").is_null())
        .then(
            pl.col("source_code").replace_strict(_FIDELITY_OF, default=None, return_dtype=pl.Int16)
        )
        .otherwise(pl.col("fidelity_code"))
    )
    frame = _without_bad_rows(frame, bad, now_minute, rejected)
    frame = _without_bad_figures(frame, rejected)
    return _stored(frame)


def _faults(now_minute: int) -> dict[str, pl.Expr]:
    """Reason -> rows that it throws out; a null answer throws out too."""
    samples, active = pl.col("samples"), pl.col("active_samples")
    wide, wide_active = pl.col("bandwidth_samples"), pl.col("bandwidth_active_samples")
    implied = pl.col("source_code").replace_strict(
        _FIDELITY_OF, default=None, return_dtype=pl.Int16
    )
    return {
        "seq": pl.col("seq") >= 0,
        "card": pl.col("card").is_between(0, pl.col("cards") - 1),
        "minute": (pl.col("minute_at") % 60 == 0)
        & (pl.col("minute") >= FIRST_MINUTE)
        & (pl.col("minute") < 2**31),
        "future": pl.col("minute") <= now_minute + CLOCK_AHEAD,
        "source": pl.col("source_code").is_not_null(),
        "fidelity": (pl.col("fidelity_code") == int(Fidelity.UNKNOWN))
        | (pl.col("fidelity_code") == implied),
        "counts": samples.is_between(0, MOST_SAMPLES)
        & active.is_between(0, samples).fill_null(True)
        & wide.is_between(0, samples)
        & wide_active.is_between(0, wide).fill_null(True),
    }


def _without_bad_rows(
    frame: pl.DataFrame,
    bad: Mapping[str, list[bool]],
    now_minute: int,
    rejected: Sequence[Counter[str]],
) -> pl.DataFrame:
    faults = _faults(now_minute)
    sound = pl.all_horizontal(*(test.fill_null(False) for test in faults.values()))
    if not bad and frame.select(sound.all()).item():
        return frame
    verdict = pl.lit(None, dtype=pl.String)
    for reason, test in reversed(list(faults.items())):
        verdict = pl.when(test.fill_null(False)).then(verdict).otherwise(pl.lit(reason))
    for name, wrong in reversed(list(bad.items())):
        frame = frame.with_columns(pl.Series(f"{name}!", wrong))
        verdict = pl.when(pl.col(f"{name}!")).then(pl.lit(f"type:{name}")).otherwise(verdict)
    frame = frame.with_columns(fault=verdict)
    for page, reason, count in (
        frame.drop_nulls("fault").group_by("page", "fault").len().iter_rows()
    ):
        rejected[page][reason] += count
    return frame.filter(pl.col("fault").is_null())


def _sum_of(figure: Figure) -> pl.Expr:
    if len(figure.wire) == 1:
        return pl.col(figure.wire[0])
    known = pl.any_horizontal(*(pl.col(wire).is_not_null() for wire in figure.wire))
    return pl.when(known).then(pl.sum_horizontal(*figure.wire))


def _without_bad_figures(frame: pl.DataFrame, rejected: Sequence[Counter[str]]) -> pl.DataFrame:
    frame = frame.with_columns(_sum_of(figure).alias(figure.name) for figure in FIGURES)
    outside = {
        figure.name: ~pl.col(figure.name).is_between(figure.low, figure.high) for figure in FIGURES
    }
    counts = frame.select(test.sum().alias(name) for name, test in outside.items()).row(
        0, named=True
    )
    wrong = {name: count for name, count in counts.items() if count}
    if not wrong:
        return frame
    for name in wrong:
        for page, count in frame.filter(outside[name]).group_by("page").len().iter_rows():
            rejected[page][f"range:{name}"] += count
    bandwidth = [figure.name for figure in BANDWIDTH]
    lost = pl.any_horizontal(*(outside[name].fill_null(False) for name in bandwidth))
    said = pl.concat_str(
        [pl.col("reason"), pl.lit("out_of_range")], separator=",", ignore_nulls=True
    )
    return frame.with_columns(
        pl.when(pl.any_horizontal(*(outside[name].fill_null(False) for name in wrong)))
        .then(said)
        .otherwise(pl.col("reason"))
        .alias("reason"),
        pl.when(lost).then(pl.lit(0, pl.Int16)).otherwise("fidelity_code").alias("fidelity_code"),
        *(
            pl.when(lost).then(None).otherwise(name).alias(name)
            for name in (*bandwidth, "bandwidth_max_at")
        ),
        *(
            pl.when(outside[name].fill_null(False)).then(None).otherwise(name).alias(name)
            for name in wrong
            if name not in bandwidth
        ),
    )


def _stored(frame: pl.DataFrame) -> pl.DataFrame:
    """Types of the table; a row without a bandwidth mean has no bandwidth weight."""
    blind = pl.col("bandwidth_mean").is_null()
    kinds: dict[str, pl.Expr] = {
        "card": pl.col("card").cast(pl.Int32),
        "minute": pl.col("minute").cast(pl.Int32),
        "seq": pl.col("seq"),
        "source": pl.col("source_code").cast(pl.Int16),
        "fidelity": pl.when(blind)
        .then(pl.lit(0, pl.Int16))
        .otherwise(pl.col("fidelity_code").cast(pl.Int16)),
        "samples": pl.col("samples").cast(pl.Int16),
        "active_samples": pl.col("active_samples").cast(pl.Int16),
        "bandwidth_samples": pl.when(blind).then(0).otherwise("bandwidth_samples").cast(pl.Int16),
        "bandwidth_active_samples": pl.when(blind)
        .then(0)
        .when(pl.col("bandwidth_active_mean").is_null())
        .then(pl.when(pl.col("bandwidth_active_samples") > 0).then(None).otherwise(0))
        .otherwise("bandwidth_active_samples")
        .cast(pl.Int16),
        **{
            figure.name: pl.col(figure.name).cast(pl.Int64 if figure.whole else pl.Float32)
            for figure in FIGURES
        },
        "bandwidth_max_at": (pl.col("bandwidth_max_at") - pl.col("minute_at"))
        .clip(0, 59)
        .cast(pl.Int16),
        **{name: pl.col(name).str.slice(0, MAX_TEXT) for name in TEXTS},
    }
    names = ["card" if name == "card_id" else name for name in STORED if name != "stream_id"]
    return frame.select("page", *(kinds[name].alias(name) for name in names))
