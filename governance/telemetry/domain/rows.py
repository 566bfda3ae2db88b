"""The rows of samples pages: cells of the right type, rows that hold together, figures in range.

A bad row is left out, a figure out of its range becomes unknown; both are counted by page.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from governance.telemetry.domain.columns import (
    BANDWIDTH,
    FIGURES,
    MOST_SAMPLES,
    STORED,
    TEXTS,
    WEIGHTS,
    Figure,
)
from governance.telemetry.domain.sources import FIDELITY_OF, Fidelity, Source

MAX_TEXT = 200
FIRST_MINUTE = 23_667_840
"""2015-01-01: no row is older."""

CLOCK_AHEAD = 10
"""Minutes by which a row may lie ahead of the server's clock."""

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
WIRE: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(_WHOLE, pl.Int64),
    **dict.fromkeys(_WORDS, pl.String),
    **dict.fromkeys(_SHARES, pl.Float64),
}


def typed(
    lists: Mapping[str, list[object]], height: int
) -> tuple[pl.DataFrame, dict[str, list[bool]]]:
    """Lists as typed columns, and for each column with cells of another type which they are."""
    series: list[pl.Series] = []
    bad: dict[str, list[bool]] = {}
    for name, kind in WIRE.items():
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


def normalise(
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
