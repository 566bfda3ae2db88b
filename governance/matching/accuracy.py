"""How right the predictor was: measured runs with what it said, and the sources' own figures."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from math import exp, log

from governance.catalog.domain import OfferView, TermPrice, load_cards
from governance.catalog.domain.packaged import rows as packaged

from .calibrate import quantile
from .constants import TABLE
from .engine import match
from .shapes import RequestSpec

RUNS = TABLE.parent / "calibration.csv"
EPOCH_TOKENS = 9.6e6
"""Tokens of the articles' epoch, which they do not state: what all four of their times imply."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run; `left_out` was predicted without any run of its source."""

    id: str
    source: str
    kind: str
    params_b: float
    card: str
    cards: str
    metric: str
    unit: str
    measured: float
    fitted: float
    left_out: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of one kind of run; error = max(predicted/measured, measured/predicted) - 1."""

    kind: str
    runs: int
    fitted_median: float
    fitted_p90: float
    left_out_median: float
    left_out_p90: float
    bias: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A time that an article gives beside our prediction for the same job, in minutes."""

    card: str
    claimed: float
    predicted: float
    low: float
    high: float
    method: str
    setup: str
    source: str


@cache
def runs() -> tuple[Run, ...]:
    """The runs behind the constants, as written by the last refit."""
    with RUNS.open(encoding="utf-8", newline="") as file:
        return tuple(
            Run(
                id=row["id"],
                source=row["source"],
                kind=row["kind"],
                params_b=float(row["params_b"]),
                card=row["card"],
                cards=row["cards"],
                metric=row["metric"],
                unit=row["unit"],
                measured=float(row["measured"]),
                fitted=float(row["fitted"]),
                left_out=float(row["left_out"]),
            )
            for row in csv.DictReader(file)
        )


def error(predicted: float, measured: float) -> float:
    """How many times off, less one."""
    return max(predicted / measured, measured / predicted) - 1


def summaries(found: Sequence[Run]) -> list[Summary]:
    """Errors by kind, fitted and left out side by side."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in found:
        groups[run.kind].append(run)
    return [
        Summary(
            kind=kind,
            runs=len(rows),
            fitted_median=quantile([error(r.fitted, r.measured) for r in rows], 0.5),
            fitted_p90=quantile([error(r.fitted, r.measured) for r in rows], 0.9),
            left_out_median=quantile([error(r.left_out, r.measured) for r in rows], 0.5),
            left_out_p90=quantile([error(r.left_out, r.measured) for r in rows], 0.9),
            bias=exp(sum(log(r.left_out / r.measured) for r in rows) / len(rows)) - 1,
        )
        for kind, rows in sorted(groups.items())
    ]


@cache
def claims() -> tuple[Claim, ...]:
    """The four times of the article's table beside ours: eight cards, 70B, batch 16, 2,048
    tokens, rank 128. Where 16-bit weights do not fit, 4-bit ones are predicted."""
    found = []
    for row in packaged("claims.csv"):
        for method in ("lora", "qlora"):
            asked = RequestSpec(
                preset="llama-2-70b",
                method=method,
                tokens=EPOCH_TOKENS,
                global_batch=16,
                lora_rank=128,
                goodput=1.0,
                max_cards=int(row["cards"]),
            )
            offer = OfferView(
                id=row["card"],
                vendor="",
                region="",
                card=load_cards()[row["card"]],
                min_units=int(row["cards"]),
                prices=(TermPrice("hourly", Decimal(row["price_per_hour"]), row["currency"]),),
            )
            packages = match(asked, [offer]).packages
            if packages:
                best = packages[0]
                found.append(
                    Claim(
                        card=best.card_name,
                        claimed=float(row["minutes"]),
                        predicted=best.hours * 60,
                        low=best.hours_low * 60,
                        high=best.hours_high * 60,
                        method=method,
                        setup=row["setup"],
                        source=row["source_ref"],
                    )
                )
                break
    return tuple(found)
