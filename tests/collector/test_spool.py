"""The spool and the page: cursors, retention, corruption, restarts."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from collector.model import Card, Reading
from collector.page import BadCursor, build, parse_cursor
from collector.spool import Spool, SpoolBusy

MINUTE = 1_800_000_000 // 60 * 60


def ticks(card: Card, minutes: int = 1, per_minute: int = 60, start: int = MINUTE, share=0.25):
    return [
        (start + 60 * m + s, [(card, Reading("nvml_gpm", bandwidth=share, gpu_duty=0.5))])
        for m in range(minutes)
        for s in range(0, 60, 60 // per_minute)
    ]


def page(spool: Spool, after: str | None = None, limit: int = 1000) -> dict:
    return json.loads(build(spool, after, limit).body)


def test_a_minute_becomes_one_row(spool: Spool, card: Card) -> None:
    spool.store(ticks(card))
    assert spool.fold_until(MINUTE + 59) == 0
    assert page(spool)["columns"]["seq"] == []
    assert spool.fold_until(MINUTE + 60) == 1
    answer = page(spool)
    assert answer["columns"]["samples"] == [60]
    assert answer["columns"]["minute"] == [MINUTE]
    assert answer["cards"][answer["columns"]["card"][0]]["uuid"] == card.uuid
    assert len({len(values) for values in answer["columns"].values()}) == 1
    assert spool.open_minutes() == []


def test_a_restart_inside_a_minute_loses_no_tick(tmp_path: Path, card: Card) -> None:
    all_ticks = ticks(card)
    first = Spool(str(tmp_path))
    first.store(all_ticks[:25])
    first.close()
    second = Spool(str(tmp_path))
    second.store(all_ticks[25:])
    second.fold_until(None)
    answer = page(second)
    assert answer["columns"]["samples"] == [60]
    assert answer["epoch"] == first.epoch
    assert answer["agent"] == first.agent
    second.close()


def test_pages_join_without_a_hole_or_a_row_twice(spool: Spool, card: Card) -> None:
    other = Card("nvidia", "GPU-other")
    for at, batch in ticks(card, minutes=7, per_minute=2):
        spool.store([(at, [*batch, (other, Reading("nvml_gpm", bandwidth=0.1))])])
    spool.fold_until(None)
    seen, cursor, pages = [], None, 0
    while True:
        answer = page(spool, cursor, limit=3)
        seen += zip(answer["columns"]["card"], answer["columns"]["minute"], strict=True)
        again = page(spool, cursor, limit=3)
        assert again["columns"] == answer["columns"]
        cursor, pages = answer["next"], pages + 1
        if not answer["more"]:
            break
    assert len(seen) == len(set(seen)) == 14
    assert pages == 5
    assert page(spool, cursor)["columns"]["seq"] == []
    assert page(spool, cursor)["next"] == cursor


@pytest.mark.parametrize("cursor", ["x", "a:b", "abc:-1", ":4", "a b:3", "é:1", "abc:" + "9" * 30])
def test_a_cursor_that_cannot_be_read_is_refused(cursor: str) -> None:
    with pytest.raises(BadCursor, match="EPOCH:SEQ"):
        parse_cursor(cursor)


def test_a_cursor_of_another_epoch_starts_over_with_a_gap(spool: Spool, card: Card) -> None:
    spool.store(ticks(card))
    spool.fold_until(None)
    answer = page(spool, "deadbeef:17")
    assert answer["columns"]["samples"] == [60]
    assert [gap["reason"] for gap in answer["gaps"]] == ["new_epoch"]


def test_a_cursor_ahead_of_a_rolled_back_store_begins_a_new_epoch(spool: Spool, card: Card) -> None:
    spool.store(ticks(card))
    spool.fold_until(None)
    before = spool.epoch
    answer = page(spool, f"{before}:999")
    assert answer["epoch"] != before
    assert answer["columns"]["samples"] == [60]
    assert page(spool, answer["next"])["columns"]["seq"] == []


def test_gaps_are_told_once_per_cursor(spool: Spool, card: Card) -> None:
    spool.add_gap(MINUTE, MINUTE + 90, "agent_down")
    first = page(spool)
    assert first["gaps"] == [
        {"from": "2027-01-15T08:00:00Z", "to": "2027-01-15T08:01:30Z", "reason": "agent_down"}
    ]
    assert page(spool, first["next"])["gaps"] == []


def test_retention_by_age_leaves_a_gap_for_who_has_not_read(spool: Spool, card: Card) -> None:
    spool.max_age_s = 600
    spool.store(ticks(card, minutes=20, per_minute=1))
    spool.fold_until(None)
    reader = page(spool, limit=10)["next"]
    assert spool.prune(MINUTE + 20 * 60) == 10
    assert [gap["reason"] for gap in page(spool)["gaps"]] == ["retention"]
    assert page(spool)["gaps"][0]["to"] == "2027-01-15T08:10:00Z"
    assert page(spool, reader)["gaps"] == []
    assert len(page(spool, reader)["columns"]["seq"]) == 10


def test_retention_by_bytes(spool: Spool, card: Card) -> None:
    spool.store(ticks(card, minutes=400, per_minute=1))
    spool.fold_until(None)
    spool.max_bytes = 80_000
    dropped = spool.prune(MINUTE)
    assert 0 < dropped < 400
    assert spool.bytes_used() <= 80_000
    answer = page(spool)
    assert len(answer["columns"]["seq"]) == 400 - dropped
    assert {gap["reason"] for gap in answer["gaps"]} == {"retention"}
    assert page(spool, answer["next"])["gaps"] == []


def test_many_prunings_stay_a_short_list(spool: Spool, card: Card) -> None:
    spool.max_age_s = 60
    for minute in range(80):
        spool.store(ticks(card, per_minute=1, start=MINUTE + 60 * minute))
        spool.fold_until(None)
        spool.prune(MINUTE + 60 * minute + 120)
    gaps = page(spool)["gaps"]
    assert len(gaps) <= 51
    assert gaps[0]["from"] == "2027-01-15T08:00:00Z"


def _break_header(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def _break_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def _cut_tail(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("harm", [_break_header, _break_pages, _cut_tail])
def test_a_corrupt_store_is_set_aside_and_a_new_epoch_begins(
    tmp_path: Path, card: Card, harm
) -> None:
    first = Spool(str(tmp_path))
    first.store(ticks(card, minutes=50, per_minute=1))
    first.fold_until(None)
    epoch, cursor = first.epoch, page(first)["next"]
    first.close()
    harm(tmp_path / "spool.sqlite")
    second = Spool(str(tmp_path))
    assert second.epoch != epoch
    assert second.agent == first.agent
    assert list(tmp_path.glob("spool-corrupt-*"))
    second.store(ticks(card, start=MINUTE + 86400))
    second.fold_until(None)
    answer = page(second, cursor)
    assert answer["columns"]["samples"] == [60]
    assert {gap["reason"] for gap in answer["gaps"]} == {"store_corrupt", "new_epoch"}
    second.close()


def test_set_aside_stores_do_not_pile_up(tmp_path: Path) -> None:
    for _ in range(4):
        spool = Spool(str(tmp_path))
        spool.close()
        _break_header(tmp_path / "spool.sqlite")
    Spool(str(tmp_path)).close()
    assert len(list(tmp_path.glob("spool-corrupt-*"))) == 2


def test_two_agents_do_not_share_a_folder(spool: Spool) -> None:
    with pytest.raises(SpoolBusy, match="in use"):
        Spool(spool.folder)


def test_a_failed_write_leaves_nothing_half_done(spool: Spool, card: Card) -> None:
    good = ticks(card)[0]
    bad = (good[0] + 1, [(card, Reading("nvml_gpm", processes=[object()]))])
    with pytest.raises(TypeError):
        spool.store([good, bad])
    spool.store([good])
    spool.fold_until(None)
    assert page(spool)["columns"]["samples"] == [1]


def test_readings_of_an_older_version_are_folded_by_their_own_fields(
    tmp_path: Path, card: Card
) -> None:
    first = Spool(str(tmp_path))
    first.store(ticks(card, per_minute=1))
    first.close()
    database = sqlite3.connect(tmp_path / "spool.sqlite")
    database.execute("UPDATE meta SET value='source,power_w,gone' WHERE key='fields'")
    database.execute("""UPDATE tick SET body='[[1,["nvml_gpm",250,1]]]'""")
    database.execute("ALTER TABLE row DROP COLUMN tensor_mean")
    database.commit()
    database.close()
    second = Spool(str(tmp_path))
    columns = page(second)["columns"]
    assert (columns["power_w_mean"], columns["tensor_mean"]) == ([250], [None])
    second.close()


def test_nan_never_reaches_a_page(spool: Spool, card: Card) -> None:
    spool.store([(MINUTE, [(card, Reading("nvml_gpm", power_w=1.0))])])
    spool.fold_until(None)
    spool._db.execute("UPDATE row SET bandwidth_mean = 1e999 * 0")
    assert page(spool)["columns"]["bandwidth_mean"] == [None]


@pytest.mark.parametrize("figure", [2**64 - 1, float("inf"), float("nan"), "rotten"])
def test_a_figure_that_cannot_be_kept_holds_nothing_up(
    spool: Spool, card: Card, figure: object
) -> None:
    other = Card("nvidia", "GPU-other")
    odd = Reading("nvml_gpm", bandwidth=0.5, memory_used_bytes=figure, power_w=figure)
    fine = Reading("nvml_gpm", bandwidth=0.25, memory_used_bytes=7)
    spool.store([(MINUTE, [(card, odd), (other, fine)])])
    spool.store(ticks(card, start=MINUTE + 60))
    spool.fold_until(None)
    assert spool.open_minutes() == []
    columns = page(spool)["columns"]
    assert columns["memory_used_bytes_max"][-2:] == [7, None]
    assert columns["minute"][-1] == MINUTE + 60


@pytest.mark.parametrize(("fsync", "level"), [("off", 0), ("minute", 2), ("tick", 2)])
def test_a_gap_is_synced_like_a_row(tmp_path: Path, fsync: str, level: int) -> None:
    """Else a power cut gives its number to a record that its reader never sees."""
    spool = Spool(str(tmp_path), fsync=fsync)
    seen: list[int] = []
    before = spool._db.execute("PRAGMA synchronous").fetchone()
    number = spool._next_seq

    def watched() -> int:
        seen.extend(spool._db.execute("PRAGMA synchronous").fetchone())
        return number()

    spool._next_seq = watched  # type: ignore[method-assign]
    spool.add_gap(1.0, 2.0, "test")
    assert seen == [level]
    assert spool._db.execute("PRAGMA synchronous").fetchone() == before
    spool.close()


def test_names_that_no_reader_can_keep_are_made_plain(spool: Spool) -> None:
    odd = Card("nvidia", "GPU-\0\ud83d", model="H\0", index=10**20)
    spool.store(ticks(odd, per_minute=1))
    spool.fold_until(None)
    [card] = page(spool)["cards"]
    assert (card["uuid"], card["model"], card["index"]) == ("GPU-\ufffd?", "H\ufffd", None)
