"""Reading tables that others made: CSV with or without a header, any column names.

`--columns` maps our names to theirs (`timestamp=time,cards=gpus`), or, for a file without a
header, numbers to our names (`0=node,1=card_model`). Well-known other names are taken without it.
A fault names file line, column and what would be right.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class TableFault(ValueError):
    """One clear line on what is wrong where."""


@dataclass(frozen=True)
class Names:
    """Our column names with the other names that they go by; which of them must be there."""

    known: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]

    def of(self, text: str) -> str | None:
        """Our name for a header, or None."""
        plain = re.sub(r"[^a-z0-9]+", "_", text.strip().lower()).strip("_")
        for name, others in self.known.items():
            if plain == name or plain in others:
                return name
        return None


def zone(name: str | None) -> ZoneInfo | None:
    """A time zone by name; TableFault for an unknown one."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise TableFault(
            f"--timezone {name}: not a time zone; write one such as Asia/Shanghai"
        ) from None


def mapping(option: str | None, names: Names) -> dict[str, str | int]:
    """`--columns` as {our name: their header or column number}."""
    found: dict[str, str | int] = {}
    for part in (option or "").split(","):
        if not part.strip():
            continue
        left, equals, right = (piece.strip() for piece in part.partition("="))
        numbered = left.isdecimal()
        name = names.of(right if numbered else left)
        if not equals or not right or name is None:
            raise TableFault(
                f"--columns {part.strip()}: write NAME=HEADER or NUMBER=NAME with a NAME of"
                f" {', '.join(names.known)}"
            )
        found[name] = int(left) if numbered else right
    if len({type(place) for place in found.values()}) > 1:
        raise TableFault("--columns mixes numbers and header names: use one of them")
    return found


def rows(
    lines: Iterable[str], names: Names, option: str | None = None, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, {our name: cell}) of each row that is not blank."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    wanted = mapping(option, names)
    if wanted and isinstance(next(iter(wanted.values())), int):
        places = {name: int(place) for name, place in wanted.items()}
    else:
        places = _places(next(reader, []), names, {n: str(h) for n, h in wanted.items()})
    for name in names.required:
        if name not in places:
            raise TableFault(f"the column {name} is missing: map it with --columns {name}=HEADER")
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                if len(cells) <= max(places[name] for name in names.required):
                    raise TableFault(f"line {reader.line_num}: the row is cut short")
                yield (
                    reader.line_num,
                    {
                        name: cells[place].strip() if place < len(cells) else ""
                        for name, place in places.items()
                    },
                )
    except csv.Error as error:
        raise TableFault(f"line {reader.line_num}: {error}") from None


def _places(header: list[str], names: Names, wanted: Mapping[str, str]) -> dict[str, int]:
    headings = [cell.strip().lstrip("\ufeff") for cell in header]
    places: dict[str, int] = {}
    for place, heading in enumerate(headings):
        name = names.of(heading)
        if name is not None and name not in places:
            places[name] = place
    for name, heading in wanted.items():
        if heading not in headings:
            raise TableFault(
                f"--columns {name}={heading}: no such column; the file has {', '.join(headings)}"
            )
        places[name] = headings.index(heading)
    return places


def whole(text: str, line: int, column: str) -> int:
    """A whole number of cards and the like, zero or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number.is_integer() or not 0 <= number <= 10**9:
        raise TableFault(f"line {line}, {column}: “{text}” is not a whole number of 0 or more")
    return int(number)


def moment(text: str, line: int, column: str, local: ZoneInfo | None) -> datetime:
    """An instant; a time without offset needs the zone."""
    try:
        found = datetime.fromisoformat(text.strip().replace("/", "-"))
    except ValueError:
        raise TableFault(
            f"line {line}, {column}: “{text}” is not a time such as 2026-11-01 08:00:00"
        ) from None
    if found.tzinfo is None:
        if local is None:
            raise TableFault(
                f"line {line}, {column}: “{text}” has no time zone; give one with --timezone"
            )
        found = found.replace(tzinfo=local)
    return found.astimezone(UTC)
