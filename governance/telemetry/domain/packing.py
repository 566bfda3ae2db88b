"""A card's day of minutes as one compact value, without loss.

Column by column: whole numbers as differences, figures as their four bytes, both with the bytes
of equal weight side by side, then compressed together. Unknown cells are kept in a mask.
"""

import json
import lzma
import sys
from array import array
from collections.abc import Sequence

import polars as pl

from governance.telemetry.domain.columns import FIGURES, STORED, TEXTS

COLUMNS = tuple(name for name in STORED if name != "card_id")
_FLOATS = frozenset(figure.name for figure in FIGURES if not figure.whole)
_KINDS: dict[str, type[pl.DataType]] = {
    "minute": pl.Int32,
    "stream_id": pl.Int32,
    "seq": pl.Int64,
    **{figure.name: pl.Int64 if figure.whole else pl.Float32 for figure in FIGURES},
    **dict.fromkeys(TEXTS, pl.String),
}
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 20, "lc": 0, "lp": 0, "pb": 0}]
VERSION = 1


def pack(rows: pl.DataFrame) -> bytes:
    """The rows (columns COLUMNS, by minute) as bytes."""
    parts: list[bytes] = []
    for name in COLUMNS:
        parts += _encoded(name, rows[name])
    head = json.dumps([VERSION, rows.height, [len(part) for part in parts]]).encode()
    body = b"".join([len(head).to_bytes(4, "big"), head, *parts])
    return lzma.compress(body, lzma.FORMAT_RAW, filters=_FILTERS)


def unpack(packed: bytes) -> pl.DataFrame:
    """The rows that were packed, equal in every cell and type."""
    body = lzma.decompress(packed, lzma.FORMAT_RAW, filters=_FILTERS)
    start = 4 + int.from_bytes(body[:4], "big")
    version, height, lengths = json.loads(body[4:start])
    if version != VERSION:
        raise ValueError(f"packed minutes of version {version}, not {VERSION}")
    parts = []
    for length in lengths:
        parts.append(body[start : start + length])
        start += length
    return pl.DataFrame(
        [
            _decoded(name, height, parts[2 * place], parts[2 * place + 1])
            for place, name in enumerate(COLUMNS)
        ]
    )


def _kind(name: str) -> type[pl.DataType]:
    return _KINDS.get(name, pl.Int16)


def _encoded(name: str, column: pl.Series) -> tuple[bytes, bytes]:
    """The mask of unknown cells (empty where all are known) and the cells."""
    mask = bytes(column.is_null().to_list()) if column.null_count() else b""
    if _kind(name) == pl.String:
        return mask, json.dumps(column.to_list(), ensure_ascii=False).encode()
    if name in _FLOATS:
        return mask, _shuffled(_floats(column.fill_null(0.0).to_list()), 4)
    return mask, _shuffled(_differences(column.fill_null(strategy="forward").fill_null(0)), 8)


def _floats(values: Sequence[float]) -> bytes:
    return _little(array("f", values))


def _differences(column: pl.Series) -> bytes:
    values = column.cast(pl.Int64)
    steps = values - values.shift(1, fill_value=0)
    return _little(array("q", steps.to_list()))


def _little(values: "array[float] | array[int]") -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def _shuffled(data: bytes, width: int) -> bytes:
    return b"".join(data[place::width] for place in range(width))


def _ordered(data: bytes, width: int) -> bytes:
    height = len(data) // width
    ordered = bytearray(len(data))
    for place in range(width):
        ordered[place::width] = data[place * height : (place + 1) * height]
    return bytes(ordered)


def _decoded(name: str, height: int, mask: bytes, cells: bytes) -> pl.Series:
    kind = _kind(name)
    if kind == pl.String:
        return pl.Series(name, json.loads(cells), dtype=pl.String)
    code, width = ("f", 4) if name in _FLOATS else ("q", 8)
    values = array(code)
    values.frombytes(_ordered(cells, width))
    if sys.byteorder == "big":
        values.byteswap()
    column = pl.Series(name, values.tolist(), dtype=pl.Float32 if code == "f" else pl.Int64)
    if code == "q":
        column = column.cum_sum().cast(kind)
    if mask:
        known = pl.Series("known", list(mask), dtype=pl.UInt8) == 0
        column = pl.select(pl.when(known).then(column).otherwise(None).alias(name)).to_series()
    return column.cast(kind)
