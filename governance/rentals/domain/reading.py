"""Reads JSON input against a fixed set of fields and names every fault by its place."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any

from governance.kernel.periods import local_midnight

YEARS = range(1990, 2101)


class Faults(ValueError):
    """Input that was refused: one (place, what is wrong and what would be right) per fault."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{place}: {text}" for place, text in faults))
        self.faults = faults


def load_json(text: str) -> Any:
    """JSON with exact numbers; repeated names, NaN and Infinity are refused."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise Faults([(name, "given twice") for name in repeated])
        return dict(pairs)

    def refused(name: str) -> Any:
        raise Faults([("file", f"{name} is not a number")])

    try:
        return json.loads(
            text, parse_float=Decimal, parse_constant=refused, object_pairs_hook=unique
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Faults([("file", f"not JSON: {error.msg} at {where}")]) from None
    except RecursionError:
        raise Faults([("file", "not a document of this kind: nested too deeply")]) from None


@dataclass
class Reader:
    """One JSON object; faults are collected so that all of them are told at once."""

    data: Mapping[str, Any]
    path: str = ""
    faults: list[tuple[str, str]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, data: Any, path: str, faults: list[tuple[str, str]]) -> "Reader":
        if not isinstance(data, Mapping):
            faults.append((path or "file", "an object {...} is needed"))
            data = {}
        return cls(data, path, faults)

    def place(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def fault(self, name: str, text: str) -> None:
        self.faults.append((self.place(name), text))

    def raw(self, name: str, *, required: bool = False) -> Any:
        self.read.add(name)
        value = self.data.get(name)
        if required and value is None:
            self.fault(name, "missing")
        return value

    def choice(self, name: str, options: tuple[str, ...], default: str | None = None) -> Any:
        value = self.raw(name, required=default is None)
        if value is None:
            return options[0] if default is None else default
        if value not in options:
            self.fault(name, f"{value!r} is not one of {', '.join(options)}")
            return options[0]
        return value

    def decimal(
        self,
        name: str,
        *,
        default: Decimal | None = None,
        positive: bool = False,
        below: Decimal = Decimal(10) ** 15,
    ) -> Decimal:
        """A plain decimal number, given as text or as a JSON number, 0 or more."""
        value = self.raw(name, required=default is None)
        fallback = Decimal(1) if default is None else default
        if value is None:
            return fallback
        number: Decimal | None = None
        if isinstance(value, (str, int, Decimal)) and not isinstance(value, bool):
            try:
                number = Decimal(value)
            except InvalidOperation:
                number = None
        if number is None or not number.is_finite():
            self.fault(name, f"{value!r} is not a decimal number such as 2304.00")
            return fallback
        if number < 0 or (positive and not number):
            self.fault(name, f"{value} must be {'more than 0' if positive else '0 or more'}")
            return fallback
        if number >= below or int(number.as_tuple().exponent) < -20:
            self.fault(name, f"{value} must be below {below:f} and have at most 20 decimals")
            return fallback
        return number

    def integer(self, name: str, low: int, high: int, default: int) -> int:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fault(name, f"{value!r} is not a whole number from {low} to {high}")
            return default
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(name, f"{value!r} is not true or false")
            return default
        return value

    def instant(self, name: str, zone: tzinfo, *, required: bool = False) -> datetime | None:
        value = self.raw(name, required=required)
        if value is None:
            return None
        try:
            return parse_instant(value, zone)
        except ValueError as error:
            self.fault(name, str(error))
            return None

    def nested(self, name: str) -> "Reader | None":
        value = self.raw(name)
        return None if value is None else Reader.of(value, self.place(name), self.faults)

    def finish(self) -> None:
        """Names every field that nobody asked for."""
        known = ", ".join(sorted(self.read))
        for name in self.data:
            if name not in self.read:
                self.fault(str(name), f"unknown field; known: {known}")


def parse_instant(value: Any, zone: tzinfo) -> datetime:
    """ISO 8601 with an offset, or a date = its first local instant; `ValueError` says what else."""
    text = f"{value!r} is not a time such as 2026-01-25T00:00:00+08:00, nor a date"
    if not isinstance(value, str):
        raise ValueError(text)
    try:
        if len(value) == 10:
            moment = local_midnight(date.fromisoformat(value), zone)
        else:
            moment = datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        raise ValueError(text) from None
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} needs an offset, such as {value}+08:00")
    if moment.year not in YEARS:
        raise ValueError(f"{value!r} is not between {YEARS[0]} and {YEARS[-1]}")
    return moment.astimezone(UTC)


def raise_faults(faults: list[tuple[str, str]]) -> None:
    if faults:
        raise Faults(faults)
