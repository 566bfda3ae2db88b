"""Every constant of the predictor, in one table: what it belongs to, its value, what was believed
before any fit (`prior`), how far a fit may pull it (`spread`, in natural logarithms) and why it
exists. A constant belongs to a card's process, an interconnect, a memory type or a software stack;
none belongs to a row of data.

`python -m tests.bench predict` refits them with one source of measurements left out at a time and
prints fitted and left-out error side by side."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

TABLE = Path(__file__).resolve().parent / "data" / "constants.csv"
BELONGS = ("physics", "card", "memory", "interconnect", "stack", "interval")

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Constant:
    """One row of the table."""

    name: str
    belongs_to: str
    value: float
    prior: float
    spread: float
    unit: str
    why: str


@cache
def table() -> tuple[Constant, ...]:
    """All constants in the order of the file."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Constant(
                name=row["name"],
                belongs_to=row["belongs_to"],
                value=float(row["value"]),
                prior=float(row["prior"]),
                spread=float(row["spread"]),
                unit=row["unit"],
                why=row["why"],
            )
            for row in csv.DictReader(file)
        )


@cache
def values() -> Values:
    """Name -> value, as shipped."""
    return MappingProxyType({c.name: c.value for c in table()})


def pick(k: Values, family: str, *names: str) -> float:
    """The constant `family.name` of the first name that the table knows; the last is the default
    of the family and must exist."""
    for name in names[:-1]:
        found = k.get(f"{family}.{name}")
        if found is not None:
            return found
    return k[f"{family}.{names[-1]}"]
