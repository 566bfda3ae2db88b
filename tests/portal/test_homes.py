"""Each role's home on real, computed data; nobody sees another's."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from governance.portal import homes
from governance.reports.domain.kpis import KPIS
from governance.requests import queries as requests
from tests.portal.conftest import Demo


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
    assert requests.by_id(first.pk).state == "approved"
    assert "Review 2 approvals" in page(client, approver)


def test_researcher_sees_own_team_only(demo: Demo, client: Client) -> None:
    text = page(client, demo.person("researcher"))
    assert "bj-h100-01 0" in text
    assert "sh-a800-01" not in text
    assert "Vision" not in text
    assert "Captions" not in text


def test_share_never_mixes_sources(demo: Demo) -> None:
    from django.http import QueryDict

    home = homes.home_for(demo.person("approver"), QueryDict(), demo.now)
    tile = home.tiles[0]
    cover = str(tile.cover)
    assert cover.startswith("GPM on 8 of 24 cards")
    assert "DCGM " in cover
    assert "NVML ≤" in cover
    assert 35 < float(tile.value or 0) < 46, "the mean of the H100s alone"


def test_the_trend_breaks_where_there_is_no_data(demo: Demo) -> None:
    from django.http import QueryDict

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
