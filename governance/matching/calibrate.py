"""Fit the constants to measured runs, and judge them on sources they have not seen.

Least squares on log(predicted / measured), each constant held near its prior by its spread (both
in natural logarithms), each source weighted by the root of its size so that no single benchmark
rules. Gross outliers count linearly (Huber)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from .constants import Values, table
from .rows import predict_row

RESIDUAL_SPREAD = 0.10
"""How far a good prediction may be off, in logarithms: the scale of the misfit."""
HUBER = 2.5
"""Residuals beyond this many spreads count linearly."""
NUDGE = 0.02

Raw = Mapping[str, str]


class Recorder(Mapping[str, float]):
    """Constants that remember which of them were read: a row depends on no other."""

    def __init__(self, values: Values) -> None:
        self.values_, self.read = values, set[str]()

    def __getitem__(self, name: str) -> float:
        value = self.values_[name]
        self.read.add(name)
        return value

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
        return self[name] if name in self.values_ else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


@dataclass(frozen=True, slots=True)
class Scored:
    """A measured row with what was predicted for it."""

    raw: Raw
    measured: float
    predicted: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    @property
    def error(self) -> float:
        """max(predicted/measured, measured/predicted) - 1."""
        return max(self.ratio, 1.0 / self.ratio) - 1.0


def source_of(raw: Raw) -> str:
    """The publication a row comes from: one repository or paper, whatever the page of it."""
    return raw["source"].replace("(", " ").split(" ")[0].lower()


def scorable(raw: Raw) -> bool:
    """Rows that count: not suspect, a measured number above zero, not a yes/no."""
    suspect = "suspect=1" in raw.get("cfg", "").split(";")
    return not suspect and raw["measured_metric"] != "fits" and float(raw["measured_value"]) > 0


def kind_of(raw: Raw) -> str:
    """The class a row is judged in."""
    if raw["measured_metric"].startswith(("total_mem", "peak_mem", "activation", "param_opt")):
        return "memory"
    if raw["workload"] == "pretrain":
        return "pretrain_auto" if "auto=1" in raw["cfg"].split(";") else "pretrain"
    return raw["workload"]


def fit(rows: Sequence[Raw], rounds: int = 5) -> dict[str, float]:
    """Constants that suit `rows`; those that no row reads keep their prior."""
    constants = {c.name: c for c in table()}
    names = list(constants)
    place = {name: i for i, name in enumerate(names)}
    current = {name: constants[name].prior for name in names}
    sizes: dict[str, int] = defaultdict(int)
    for raw in rows:
        sizes[source_of(raw)] += 1
    for _ in range(rounds):
        size = len(names)
        normal = [[0.0] * size for _ in range(size)]
        right = [0.0] * size
        for raw in rows:
            gradient, residual = _slope(raw, current)
            if not gradient:
                continue
            weight = _weight(residual) / sqrt(sizes[source_of(raw)]) / RESIDUAL_SPREAD**2
            for a, slope in gradient.items():
                row = normal[place[a]]
                right[place[a]] -= weight * slope * residual
                for b, other in gradient.items():
                    row[place[b]] += weight * slope * other
        for i, name in enumerate(names):
            tight = 1.0 / constants[name].spread ** 2
            normal[i][i] += tight
            right[i] -= tight * log(current[name] / constants[name].prior)
        moves = solve(normal, right)
        for name, move in zip(names, moves, strict=True):
            current[name] *= exp(max(-0.3, min(0.3, move)))
    return current


def _weight(residual: float) -> float:
    far = abs(residual) / (HUBER * RESIDUAL_SPREAD)
    return 1.0 if far <= 1.0 else 1.0 / far


def _residual(raw: Raw, k: Values) -> float | None:
    value = predict_row(raw, k).value
    return None if not value else log(value / float(raw["measured_value"]))


def _slope(raw: Raw, k: dict[str, float]) -> tuple[dict[str, float], float]:
    seen = Recorder(k)
    here = _residual(raw, seen)
    if here is None:
        return {}, 0.0
    gradient = {}
    for name in seen.read:
        moved = dict(k)
        moved[name] = k[name] * exp(NUDGE)
        there = _residual(raw, moved)
        if there is not None and there != here:
            gradient[name] = (there - here) / NUDGE
    return gradient, here


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """x with matrix x = right, by elimination with pivots; changes its arguments."""
    size = len(right)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(matrix[r][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        right[i], right[pivot] = right[pivot], right[i]
        lead = matrix[i]
        for r in range(i + 1, size):
            factor = matrix[r][i] / lead[i]
            if factor:
                row = matrix[r]
                for c in range(i, size):
                    row[c] -= factor * lead[c]
                right[r] -= factor * right[i]
    answer = [0.0] * size
    for i in reversed(range(size)):
        rest = sum(matrix[i][c] * answer[c] for c in range(i + 1, size))
        answer[i] = (right[i] - rest) / matrix[i][i]
    return answer


def score(rows: Sequence[Raw], k: Values) -> list[Scored]:
    """Predictions beside measurements, of the rows that can be predicted."""
    found = []
    for raw in rows:
        value = predict_row(raw, k).value
        if value:
            found.append(Scored(raw, float(raw["measured_value"]), value))
    return found


def left_out(rows: Sequence[Raw], rounds: int = 5) -> list[Scored]:
    """Each source predicted with constants fitted to all the others."""
    groups: dict[str, list[Raw]] = defaultdict(list)
    for raw in rows:
        groups[source_of(raw)].append(raw)
    found = []
    for source, own in groups.items():
        others = [raw for raw in rows if source_of(raw) != source]
        found += score(own, fit(others, rounds))
    return found


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between order statistics; ValueError for no values."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
