"""The pages and the API of cards and nodes."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.models import Card, MinuteSample, Node
from tests import make
from tests.telemetry.pages import NOW, document, page, row

pytestmark = pytest.mark.django_db
START = int(NOW.timestamp()) // 60 - 180


@pytest.fixture(autouse=True)
def _at_noon() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def card(house: make.House) -> Card:
    """Three hours of minutes, ten of them missing, the first hour held by Alice's team."""
    node = services.enrol_node(actor=SYSTEM, name="north", mode="push", now=NOW).node_id
    rows = [
        row(minute=START + n, throttle="hw_thermal" if n == 5 else "")
        for n in range(180)
        if not 90 <= n < 100
    ]
    services.ingest_page(node_id=node, page=page(rows), now=NOW)
    found = Card.objects.get(uuid="GPU-0")
    start = NOW - timedelta(hours=3)
    services.book_card(
        actor=SYSTEM,
        card_id=found.pk,
        starts_at=start,
        ends_at=start + timedelta(hours=1),
        project_id=house.project.pk,
        now=NOW,
    )
    services.roll_up(now=NOW + timedelta(days=2))
    return found


def test_the_fleet_shows_figures_with_source_and_coverage(
    house: make.House, card: Card, browser_of: Any
) -> None:
    html = browser_of(house.operator).get("/cards/").content.decode()
    assert "NVML GPM 10" in html
    assert "measured bandwidth" in html
    assert "40.0" in html
    assert "not measured" in html, "cards without rows have no figure"


def test_a_card_draws_its_gap_and_its_throttling(
    house: make.House, card: Card, browser_of: Any
) -> None:
    answer = browser_of(house.operator).get(f"/cards/{card.pk}/?window=6h")
    html = answer.content.decode()
    assert "170 of 360 minutes known" in html
    assert "1 minute in which the card was throttled" in html
    [gap] = [one for one in answer.context["outages"] if one.start > NOW - timedelta(hours=2)]
    assert gap.end - gap.start == timedelta(minutes=10)
    chart = answer.context["chart"]
    mean = next(trace for trace in chart.traces if trace.get("name") == "mean")
    assert mean["connectgaps"] is False
    assert mean["y"].count(None) == 360 - 170


def test_members_see_a_card_only_while_their_team_held_it(
    house: make.House, card: Card, browser_of: Any
) -> None:
    answer = browser_of(house.member).get(f"/cards/{card.pk}/?window=6h")
    assert answer.context["rows"] == 60
    assert browser_of(house.outsider).get(f"/cards/{card.pk}/").status_code == 404
    listed = browser_of(house.outsider).get("/cards/").content.decode()
    assert "GPU-0" not in listed


def test_the_peak_log_is_what_the_page_shows(
    house: make.House, card: Card, browser_of: Any
) -> None:
    text = browser_of(house.operator).get(f"/cards/{card.pk}/peaks.csv").content.decode()
    head, *lines = text.splitlines()
    assert head.startswith("vendor,uuid,day,timezone,bandwidth_share_max,bandwidth_peak_at")
    assert all(line.startswith("nvidia,GPU-0,") for line in lines)
    assert {line.split(",")[4] for line in lines} == {"0.5"}
    assert "nvml_gpm,dram_bw" in lines[0]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("path", ["/cards/?span=month", "/nodes/", "/nodes/new/"])
def test_pages_answer_in_both_languages(
    house: make.House, card: Card, browser_of: Any, language: str, path: str
) -> None:
    browser: Client = browser_of(house.operator)
    browser.cookies["language"] = language
    assert browser.get(path).status_code == 200


def test_the_token_is_shown_once(house: make.House, browser_of: Any) -> None:
    browser = browser_of(house.operator)
    sent = {
        "name": "south",
        "mode": "push",
        "interval_seconds": 60,
        "silent_after_minutes": 10,
        "labels": "room=b2, rack=7",
    }
    answer = browser.post("/nodes/new/", sent)
    token = answer.context["token"]
    node = Node.objects.get(name="south")
    assert node.labels == {"room": "b2", "rack": "7"}
    assert f"printf %s {token}" in answer.content.decode()
    assert answer["Cache-Control"] == "no-store"
    assert token not in browser.get(f"/nodes/{node.pk}/").content.decode()
    assert services.node_for_token(token, NOW) == node


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"address": ""}, "address"),
        ({"address": "gopher://x"}, "address"),
        ({"interval_seconds": 1}, "interval_seconds"),
        ({"labels": "room"}, "labels"),
        ({"name": "north"}, "name"),
    ],
)
def test_a_wrong_field_is_marked(
    house: make.House, card: Card, browser_of: Any, wrong: dict[str, Any], field: str
) -> None:
    sent = {
        "name": "south",
        "mode": "pull",
        "address": "http://127.0.0.1:1",
        "interval_seconds": 60,
        "silent_after_minutes": 10,
        **wrong,
    }
    answer = browser_of(house.operator).post("/nodes/new/", sent)
    assert list(answer.context["form"].errors) == [field]
    assert Node.objects.count() == 1


def test_change_rotate_revoke(house: make.House, card: Card, browser_of: Any) -> None:
    browser = browser_of(house.operator)
    node = Node.objects.get(name="north")
    sent = {"mode": "push", "interval_seconds": 30, "silent_after_minutes": 5, "labels": ""}
    assert browser.post(f"/nodes/{node.pk}/change/", sent).status_code == 302
    assert Node.objects.get().interval_seconds == 30
    first = browser.post(f"/nodes/{node.pk}/rotate/").context["token"]
    assert services.node_for_token(first, NOW) is not None
    browser.post(f"/nodes/{node.pk}/revoke/", {"reason": "sold"})
    assert services.node_for_token(first, NOW) is None
    assert "revoked" in browser.get("/nodes/").content.decode()


class TestPush:
    @pytest.fixture
    def token(self, house: make.House) -> str:
        return services.enrol_node(actor=SYSTEM, name="far", mode="push", now=NOW).token

    def push(self, token: str, body: bytes, **headers: str) -> Any:
        return Client().post(
            "/api/v1/samples",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}", **headers},
        )

    def test_a_page_is_stored_once(self, token: str) -> None:
        body = json.dumps(document([row(), row(card=1)])).encode()
        first = self.push(token, body).json()
        assert first == {"next": "e1:2", "stored": 2, "repeated": 0, "clashes": 0, "rejected": {}}
        packed = self.push(token, gzip.compress(body), **{"Content-Encoding": "gzip"}).json()
        assert (packed["stored"], packed["repeated"]) == (0, 2)
        assert MinuteSample.objects.count() == 2

    @pytest.mark.parametrize("given", ["", "cln_1_x", "nonsense"])
    def test_without_a_good_token_nothing_is_taken(self, token: str, given: str) -> None:
        assert self.push(given, b"{}").status_code == 401

    def test_an_odd_page_is_refused_with_a_code(self, token: str) -> None:
        answer = self.push(token, b"[]")
        assert (answer.status_code, answer.json()["code"]) == (400, "empty_payload")
        broken = self.push(token, b"plain", **{"Content-Encoding": "gzip"})
        assert (broken.status_code, broken.json()["code"]) == (400, "not_gzip")


class TestApi:
    def test_cards_and_minutes(self, house: make.House, card: Card, api_of: Any) -> None:
        api = api_of(house.member)
        [found] = api.get("/api/v1/cards/").json()["results"]
        assert (found["uuid"], found["card_model"]) == ("GPU-0", "h100-80gb-sxm5")
        start = (NOW - timedelta(hours=3)).isoformat().replace("+00:00", "Z")
        end = NOW.isoformat().replace("+00:00", "Z")
        minutes = api.get(f"/api/v1/cards/{card.pk}/minutes/?from={start}&to={end}").json()
        assert len(minutes["columns"]["minute"]) == 60
        assert minutes["columns"]["sm"][0] is None
        assert api_of(house.outsider).get(f"/api/v1/cards/{card.pk}/").status_code == 404

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("from=2026-13-01&to=2026-11-02", "from"),
            ("from=2026-11-02&to=2026-11-01", "to"),
            ("from=2026-11-01", "to"),
            ("from=2026-11-01&to=2026-11-02&timezone=Mars", "timezone"),
            ("from=2026-11-01&to=2026-11-02&group_by=colour", "group_by"),
        ],
    )
    def test_a_wrong_question_is_answered_with_its_field(
        self, house: make.House, api_of: Any, query: str, field: str
    ) -> None:
        answer = api_of(house.operator).get(f"/api/v1/usage/?{query}")
        assert (answer.status_code, answer.json()["field"]) == (400, field)

    def test_usage(self, house: make.House, card: Card, api_of: Any) -> None:
        day = (NOW - timedelta(hours=1)).date()
        answer = api_of(house.operator).get(
            f"/api/v1/usage/?from={day}&to={day}&timezone=UTC&group_by=project"
        )
        found = {one["group"]["project"]: one for one in answer.json()}
        assert found[house.project.slug]["card_hours"] == 1.0
        assert found[house.project.slug]["coverage"] == 1.0
        assert found[None]["card_hours"] == pytest.approx(110 / 60)
        assert found[None]["figures"]["bandwidth_share_active_mean"] == pytest.approx(0.4)

    def test_enrol_rotate_revoke(self, house: make.House, api_of: Any) -> None:
        api = api_of(house.operator)
        made = api.post("/api/v1/nodes/", {"name": "api", "mode": "push"})
        assert made.status_code == 201
        node = made.json()["node_id"]
        assert services.node_for_token(made.json()["token"], clock.now()) is not None
        assert api.post(f"/api/v1/nodes/{node}/rotate/").json()["token"] != made.json()["token"]
        assert api.post(f"/api/v1/nodes/{node}/revoke/", {"reason": "x"}).json()["state"] == (
            "revoked"
        )
        assert [one["name"] for one in api.get("/api/v1/nodes/").json()] == ["api"]


def test_lists_do_not_ask_more_for_more_cards(
    house: make.House, card: Card, browser_of: Any, django_assert_max_num_queries: Any
) -> None:
    node = Node.objects.get()
    many = [f"GPU-{n:03}" for n in range(100)]
    services.ingest_page(
        node_id=node.pk,
        page=page([row(card=n, minute=START) for n in range(100)], cards=many, epoch="e2"),
        now=NOW,
    )
    services.roll_up(now=NOW + timedelta(days=2))
    browser = browser_of(house.operator)
    browser.get("/cards/")
    with django_assert_max_num_queries(15):
        browser.get("/cards/")
    with django_assert_max_num_queries(25):
        browser.get(f"/cards/{card.pk}/")
    with django_assert_max_num_queries(15):
        browser.get("/nodes/")
