"""Refit the constants on the measured runs and write the table behind the accuracy page.

`python -m tests.bench._refit`: about a minute; changes `governance/matching/data/`."""

from __future__ import annotations

import csv
import sys

from governance.matching.calibrate import Scored, fit, kind_of, left_out, score
from governance.matching.constants import TABLE
from governance.matching.rows import predict_row
from tests.bench.predict import measured

RUNS = TABLE.parent / "calibration.csv"
HEAD = (
    "id",
    "source",
    "kind",
    "params_b",
    "card",
    "cards",
    "metric",
    "unit",
    "measured",
    "fitted",
    "left_out",
)


def write_constants(values: dict[str, float]) -> None:
    """Put the fitted values into the table; intervals stay as they are."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["belongs_to"] != "interval":
            row["value"] = f"{values[row['name']]:.4g}"
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_runs(fitted: list[Scored], unseen: list[Scored]) -> None:
    """One line a run: measured, fitted, predicted without its source."""
    others = {row.raw["id"]: row for row in unseen}
    with RUNS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for row in fitted:
            raw = row.raw
            writer.writerow(
                [
                    raw["id"],
                    raw["source"].split(" @")[0],
                    kind_of(raw),
                    raw["params_b"],
                    raw["gpu"],
                    raw["n_gpus"],
                    raw["measured_metric"],
                    raw["unit"],
                    raw["measured_value"],
                    f"{row.predicted:.5g}",
                    f"{others[raw['id']].predicted:.5g}",
                ]
            )


if __name__ == "__main__":
    rows = measured()
    constants = fit(rows)
    write_constants(constants)
    rounded = {name: float(f"{value:.4g}") for name, value in constants.items()}
    write_runs(score(rows, rounded), left_out(rows))
    unpredicted = [row["id"] for row in rows if predict_row(row, rounded).value is None]
    words = f"{len(rows)} runs, {len(constants)} constants; not predicted: {unpredicted}"
    sys.stdout.write(words + "\n")
