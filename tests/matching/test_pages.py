"""The accuracy page and the plan as a file."""

from __future__ import annotations

import csv
from typing import Any

from governance.matching.accuracy import claims, runs, summaries
from governance.matching.rows import predict_row
from tests.make import House


def test_accuracy_page(house: House, browser_of: Any) -> None:
    page = browser_of(house.member).get("/catalogue/accuracy/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "source left out" in text
    assert "power_exponent.all" in text


def test_the_shipped_table_is_what_the_constants_give(shared_dir: Any) -> None:
    with (shared_dir / "data/measured_calibrate.csv").open(encoding="utf-8") as file:
        measured = {row["id"]: row for row in csv.DictReader(file)}
    for run in runs():
        value = predict_row(measured[run.id]).value
        assert value is not None
        assert abs(value / run.fitted - 1) < 0.01, run.id


def test_summaries_hold_every_run() -> None:
    assert sum(s.runs for s in summaries(runs())) == len(runs())


def test_the_articles_times_lie_in_our_intervals() -> None:
    found = claims()
    assert len(found) == 4
    for claim in found:
        assert claim.low <= claim.claimed <= claim.high
