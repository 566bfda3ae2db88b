"""The demonstration as people see it: homes of all roles, search, and its own honesty.

One module, since loading it is the slow part.
"""

from __future__ import annotations

import html
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from django.http import QueryDict
from django.test import Client

from governance.portal import homes, search
from governance.portal.demo import cast, load, series
from governance.portal.demo.fleet import MACHINES
from governance.rentals import queries as rentals
from governance.reports.domain.kpis import KPIS
from governance.requests import queries as requests
from governance.telemetry.queries.cards import cards_for
from governance.telemetry.queries.freshness import freshness
from tests.portal.conftest import Demo


@pytest.fixture
def db() -> None:
    """Says that these tests need the database; `demo` opens its transaction itself."""


def page(client: Client, user: Any, path: str = "/", language: str = "en") -> str:
    client.force_login(user)
    client.cookies["language"] = language
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


HOMES = {
    "approver": ("Needs you today", "Bandwidth share, active time", "Commitment utilisation"),
    "finance": ("Needs you today", "Billed", "Cost by month and plan"),
    "operator": ("Open rental", "sz-4090-01", "Newest minute"),
    "auditor": ("Latest acts", "Billed"),
    "researcher": ("My requests", "My cards now", "Budgets of my projects"),
    "lead": ("My requests", "My cards now"),
    "admin": ("Latest acts",),
}


def test_homes_of_all_roles(demo: Demo, client: Client) -> None:
    for name, words in HOMES.items():
        text = page(client, demo.person(name))
        for word in words:
            assert word in text, (name, word)


def test_approver_acts_from_home_and_sees_what_it_does_to_the_budget(
    demo: Demo, client: Client
) -> None:
    approver = demo.person("approver")
    text = page(client, approver)
    waiting = requests.inbox(approver, requests.local_day(demo.now))
    assert waiting.count() == 3
    assert "Review 3 approvals" in text
    first = waiting[0]
    assert f'action="/requests/{first.pk}/approve/"' in text
    assert re.search(r"budget \d+\.\d → \d+\.\d", text)
    answer = client.post(f"/requests/{first.pk}/approve/", {"next": "/"})
    assert answer.status_code == 302
    assert requests.by_id(first.pk).state in ("approved", "active"), "active: on cards of our own"
    assert "Review 2 approvals" in page(client, approver)


def test_researcher_sees_own_team_only(demo: Demo, client: Client) -> None:
    text = page(client, demo.person("researcher"))
    assert "bj-h100-01 0" in text
    assert "sh-a800-01" not in text
    assert "Vision" not in text
    assert "Captions" not in text


def test_share_never_mixes_sources(demo: Demo) -> None:
    home = homes.home_for(demo.person("approver"), QueryDict(), demo.now)
    tile = home.tiles[0]
    cover = str(tile.cover)
    assert cover.startswith("GPM on 8 of 24 cards")
    assert "DCGM " in cover
    assert "NVML ≤" in cover
    assert 35 < float(tile.value or 0) < 46, "the mean of the H100s alone"


def test_the_trend_breaks_where_there_is_no_data(demo: Demo) -> None:
    home = homes.home_for(demo.person("approver"), QueryDict(), demo.now)
    series = [t for t in home.charts[0].figure["traces"] if t.get("name") == "LLM"]
    values = series[0]["y"]
    assert values[0] is None, "27 of the 30 days were not measured"
    assert values[-2] is not None
    assert series[0]["connectgaps"] is False


@pytest.mark.parametrize("path", ["/", "/help/", "/search/?q=a800"])
def test_chinese_pages_hold_no_english_sentence(demo: Demo, client: Client, path: str) -> None:
    text = page(client, demo.person("finance"), path, "zh-hans")
    assert '<html lang="zh-Hans"' in text
    registry = {text for k in KPIS.values() for text in (k.name, k.formula, k.unit, k.coverage)}
    plain = re.sub(r"<(script|style|svg|code|kbd)[\s\S]*?</\1>|<[^>]+>", "\n", text)
    english = [
        line.strip()
        for line in plain.splitlines()
        if re.search(r"\b(the|and|of|is|are|with|what|which|not)\b", line)
        and html.unescape(line.strip()) not in registry
    ]
    assert english == []


def test_home_asks_few_queries(
    demo: Demo, client: Client, django_assert_max_num_queries: Any
) -> None:
    client.force_login(demo.person("approver"))
    with django_assert_max_num_queries(70):
        client.get("/")


def titles(demo: Demo, who: str, words: str) -> set[str]:
    return {hit.title for group in search.find(demo.person(who), words) for hit in group.hits}


def test_finds_across_rooms(demo: Demo) -> None:
    found = search.find(demo.person("approver"), "a800")
    assert {group.label for group in found} >= {"Rentals", "Cards", "Card models"}


def test_a_number_finds_its_request(demo: Demo) -> None:
    first = requests.visible(demo.person("approver")).order_by("pk").values_list("pk", flat=True)[0]
    assert any(title.startswith(f"#{first} ") for title in titles(demo, "approver", f"#{first}"))


def test_other_teams_stay_unknown(demo: Demo) -> None:
    assert titles(demo, "approver", "sh-a800-01")
    assert not titles(demo, "researcher", "sh-a800-01")
    assert titles(demo, "researcher", "bj-h100-01")


def test_too_little_finds_nothing_rather_than_everything(demo: Demo) -> None:
    assert search.find(demo.person("approver"), "a") == []
    assert search.find(demo.person("approver"), "   ") == []


def test_what_people_type_is_not_a_pattern(demo: Demo) -> None:
    assert not titles(demo, "approver", "%%")
    assert not titles(demo, "approver", "'; drop table")


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


def test_people_can_sign_in(demo: Demo, client: object) -> None:
    for person in (cast.PEOPLE[0], cast.PEOPLE[-1]):
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
