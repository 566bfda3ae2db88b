"""The demonstration: whole, once, simulated, and its books balance."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from governance.plumbing import clock
from governance.portal.demo import cast, load, series
from governance.portal.demo.fleet import MACHINES
from governance.rentals import queries as rentals
from governance.telemetry.queries.cards import cards_for
from governance.telemetry.queries.freshness import freshness
from tests import make
from tests.portal.conftest import Demo


def test_every_card_is_marked_simulated(demo: Demo) -> None:
    cards = cards_for(demo.person("operator"))
    assert cards.count() == 24
    assert not cards.filter(simulated=False).exists()


def test_books_balance(demo: Demo) -> None:
    assert rentals.faults() == []


def test_a_second_load_adds_only_what_happened_since(demo: Demo, tmp_path: Path) -> None:
    before = {node.name: node.newest_minute for node in freshness()}
    later = demo.now + timedelta(minutes=30)
    load.load(folder=tmp_path, web_port=18000, now=later, say=lambda line: None)
    after = {node.name: node.newest_minute for node in freshness()}
    live = [machine.name for machine in MACHINES if machine.live]
    assert [(after[n] or 0) - (before[n] or 0) for n in live] == [30] * len(live)
    assert cards_for(demo.person("operator")).count() == 24


def test_stays_out_where_people_work(db: None, tmp_path: Path) -> None:
    make.house()
    with pytest.raises(load.Taken):
        load.load(folder=tmp_path, web_port=18000, now=clock.now(), say=print)


def test_everybody_can_sign_in(demo: Demo, client: object) -> None:
    for person in cast.PEOPLE:
        assert client.login(email=person.email, password=cast.PASSWORD)  # type: ignore[attr-defined]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_series_repeat_and_stay_within_bounds(machine: object) -> None:
    first = 29_000_000
    frames = [
        pl.concat(
            [
                series.minutes(machine, group, first, first + 600, start=first + 600)  # type: ignore[arg-type]
                for group in machine.groups  # type: ignore[attr-defined]
            ]
        )
        for _ in range(2)
    ]
    assert frames[0].equals(frames[1])
    frame = frames[0]
    for name in ("bandwidth_mean", "bandwidth_active_mean", "bandwidth_max", "gpu_duty_mean"):
        known = frame[name].drop_nulls()
        assert known.min() >= 0
        assert known.max() <= 1
    assert (frame["active_samples"] <= frame["samples"]).all()
    idle = frame.filter(pl.col("active_samples") == 0)
    assert idle["bandwidth_active_mean"].null_count() == idle.height


def test_history_and_what_is_played_join_without_a_seam(tmp_path: Path) -> None:
    machine = MACHINES[0]
    at = 29_000_000
    path = tmp_path / "series.jsonl"
    assert series.write_replay(machine, path, first=at, hours=1) == 60 * 8
    page = next(series.pages(machine, at, at + 60, start=at))
    assert len(page["columns"]["seq"]) == 60 * 8  # type: ignore[index]
