"""Dataclass <-> JSON dict, by the types of the fields: nothing is lost on the way there and back.

Decimal and dates become strings, tuples lists; a number that is not finite is refused."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, Union

T = TypeVar("T")


def to_json(thing: Any) -> Any:
    """A record (or list, dict, number ...) as JSON values. Raises ValueError for NaN/infinity."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return {f.name: to_json(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
    if isinstance(thing, Mapping):
        return {str(key): to_json(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [to_json(value) for value in thing]
    if isinstance(thing, Decimal):
        return str(thing)
    if isinstance(thing, (date, datetime)):
        return thing.isoformat()
    if isinstance(thing, float) and not math.isfinite(thing):
        raise ValueError("a number that is not finite has no JSON form")
    return thing


def from_json(kind: type[T], data: Any) -> T:
    """The record of `kind` that `to_json` wrote. Unknown or missing fields raise ValueError
    that names the field."""
    return typing.cast(T, _read(kind, data, kind.__name__))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, data: Any, where: str) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return data
    if origin in (Union, types.UnionType):
        if data is None:
            return None
        return _read(next(a for a in args if a is not type(None)), data, where)
    if origin is tuple:
        return tuple(_read(args[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    if origin in (dict, Mapping):
        return {key: _read(args[1], value, f"{where}.{key}") for key, value in data.items()}
    if dataclasses.is_dataclass(kind):
        return _record(typing.cast(type, kind), data, where)
    return _scalar(kind, data, where)


def _record(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{where}: an object is needed")
    fields = {f.name: f for f in dataclasses.fields(kind)}
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]}")
    hints = _hints(kind)
    try:
        return kind(**{k: _read(hints[k], v, f"{where}.{k}") for k, v in data.items()})
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _scalar(kind: Any, data: Any, where: str) -> Any:
    try:
        if kind is Decimal:
            return Decimal(str(data))
        if kind in (date, datetime):
            return kind.fromisoformat(data)
        if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
            return float(data)
        if isinstance(data, kind):
            return data
    except (ValueError, ArithmeticError, TypeError) as error:
        raise ValueError(f"{where}: {data!r} is not a {kind.__name__}") from error
    raise ValueError(f"{where}: {data!r} is not a {kind.__name__}")
