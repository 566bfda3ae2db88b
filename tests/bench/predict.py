"""Accuracy of the predictor on measured runs: fitted, and with each source left out in turn.

The rows are read from `shared/data/measured_calibrate.csv` beside the checkout. The constants of
the left-out column were fitted without the source that they are judged on."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

from governance.matching.calibrate import (
    Scored,
    kind_of,
    left_out,
    quantile,
    scorable,
    score,
)
from governance.matching.constants import values
from governance.matching.rows import predict_row

ROWS = Path(__file__).resolve().parents[3] / "shared" / "data" / "measured_calibrate.csv"
GOALS = {
    "pretrain": (10, 30),
    "pretrain_auto": (25, 50),
    "lora": (12, 35),
    "qlora": (10, 37),
    "full": (20, 40),
    "decode": (10, 35),
    "memory": (9, 28),
}


def measured() -> list[dict[str, str]]:
    """The rows that count."""
    with ROWS.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if scorable(row)]


def run() -> tuple[dict[str, float], dict[str, str]]:
    if not ROWS.is_file():
        raise SystemExit(f"the measured runs are not here: {ROWS}")
    rows = measured()
    figures: dict[str, float] = {}
    for name, scored in (("fitted", score(rows, values())), ("left_out", left_out(rows))):
        _errors(figures, name, scored)
    for kind, (middle, high) in GOALS.items():
        figures[f"{kind}.goal.median"] = middle
        figures[f"{kind}.goal.p90"] = high
    _intervals(figures, rows)
    figures = dict(sorted(figures.items()))
    units = dict.fromkeys(figures, "%")
    units |= {key: "rows" for key in figures if key.endswith(".rows")}
    units |= {key: "x" for key in figures if key.startswith("interval.high")}
    return figures, units


def _errors(figures: dict[str, float], name: str, scored: Sequence[Scored]) -> None:
    groups: dict[str, list[Scored]] = defaultdict(list)
    for row in scored:
        groups[kind_of(row.raw)].append(row)
    for kind, found in groups.items():
        errors = [row.error for row in found]
        figures[f"{kind}.rows"] = len(found)
        figures[f"{kind}.{name}.median"] = 100 * quantile(errors, 0.5)
        figures[f"{kind}.{name}.p90"] = 100 * quantile(errors, 0.9)
        bias = exp(sum(log(row.ratio) for row in found) / len(found)) - 1
        figures[f"{kind}.{name}.bias"] = 100 * bias


def _intervals(figures: dict[str, float], rows: Sequence[dict[str, str]]) -> None:
    inside, ratios, refused = 0, [], 0
    for raw in rows:
        answer = predict_row(raw)
        assert answer.value is not None
        assert answer.low is not None
        assert answer.high is not None
        inside += answer.low <= float(raw["measured_value"]) <= answer.high
        ratios.append(answer.high / answer.low)
        refused += not answer.fits
    figures["interval.coverage"] = 100 * inside / len(rows)
    figures["interval.high_over_low.median"] = quantile(ratios, 0.5)
    figures["interval.high_over_low.max"] = max(ratios)
    figures["completed_runs_predicted_not_to_fit"] = 100 * refused / len(rows)
