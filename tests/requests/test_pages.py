"""Pages of requests: they show, they act, and they say no with a reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from governance.plumbing import clock
from governance.requests.models import ComputeRequest
from tests import make
from tests.requests import market


@pytest.fixture
def live(house: make.House) -> market.Stage:
    """The market of the present day, as pages use the clock."""
    return market.stage(house, clock.now().replace(minute=0, second=0, microsecond=0))


def wish(at: market.Stage, **changes: Any) -> dict[str, Any]:
    start = at.now + timedelta(hours=9)
    return {
        "business_type": "fine_tuning",
        "preset": "",
        "params_b": "13",
        "method": "lora",
        "samples": "52,300",
        "epochs": "1",
        "seq_len": "1024",
        "max_cards": "8",
        "starts_at": start.strftime("%Y-%m-%dT%H:%M"),
        "needed_by": (start + timedelta(days=4)).strftime("%Y-%m-%dT%H:%M"),
        "project": at.house.project.slug,
        "worth": "deadline",
        "reason": "Second adapter",
        **changes,
    }


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_page_opens(live: market.Stage, browser_of: Any, language: str) -> None:
    row = market.submitted(live)
    draft = market.draft(live)
    pages = {
        live.house.member: [
            reverse("requests:list"),
            reverse("requests:new"),
            reverse("requests:edit", args=[draft.pk]),
            reverse("requests:detail", args=[row.pk]),
            reverse("requests:import"),
            reverse("requests:forecast"),
            reverse("requests:policy"),
        ],
        live.house.approver: [
            reverse("requests:approvals"),
            reverse("requests:approval_row", args=[row.pk]),
            reverse("requests:detail", args=[row.pk]),
            reverse("requests:delegations"),
            reverse("requests:calendar"),
        ],
    }
    for person, addresses in pages.items():
        client = browser_of(person)
        client.cookies["language"] = language
        for address in addresses:
            answer = client.get(address)
            assert answer.status_code == 200, address


def test_packages_follow_the_form(live: market.Stage, browser_of: Any) -> None:
    client = browser_of(live.house.member)
    page = client.post(reverse("requests:packages"), wish(live)).content.decode()
    assert "RTX 4090" in page
    assert "Submit request" in page
    bad = client.post(reverse("requests:packages"), wish(live, samples="many")).content.decode()
    assert "“many” is not a number." in bad
    assert ComputeRequest.objects.count() == 0


def test_submit_and_approve_by_pages(live: market.Stage, browser_of: Any) -> None:
    client = browser_of(live.house.member)
    answer = client.post(reverse("requests:new"), wish(live, act="submit"))
    row = ComputeRequest.objects.get()
    assert answer["Location"] == reverse("requests:detail", args=[row.pk])
    assert row.state == "submitted"
    own = client.post(reverse("requests:approve", args=[row.pk]))
    assert own.status_code == 403
    assert "Nobody decides on their own request." in own.content.decode()
    approver = browser_of(live.house.approver)
    inbox = approver.get(reverse("requests:approvals")).content.decode()
    assert f"#{row.pk} " in inbox
    opened = approver.get(reverse("requests:approval_row", args=[row.pk])).content.decode()
    assert "Requester: no measured rental in the last 90 days" in opened
    assert "not available yet" not in opened
    approver.post(reverse("requests:approve", args=[row.pk]))
    row.refresh_from_db()
    assert row.state == "approved"
    again = approver.post(reverse("requests:approve", args=[row.pk]))
    assert again.status_code == 409


def test_incomplete_checklist_leads_back_to_the_form(live: market.Stage, browser_of: Any) -> None:
    client = browser_of(live.house.member)
    answer = client.post(
        reverse("requests:new"),
        wish(live, act="submit", business_type="serving", method="serving", concurrency="4"),
        follow=True,
    )
    assert "Line and region of the users" in answer.content.decode()
    assert ComputeRequest.objects.get().state == "draft"


def test_outsiders_see_nothing_by_any_door(
    live: market.Stage, browser_of: Any, api_of: Any
) -> None:
    row = market.submitted(live)
    outsider, api = browser_of(live.house.outsider), api_of(live.house.outsider)
    assert outsider.get(reverse("requests:detail", args=[row.pk])).status_code == 404
    assert api.get(f"/api/v1/requests/{row.pk}/").status_code == 404
    assert api.get("/api/v1/requests/").json()["count"] == 0
    assert api.get("/api/v1/requests/?q=13B").json()["count"] == 0
    for address in (reverse("requests:list"), reverse("requests:list") + "?q=13B"):
        assert row.shown_title not in outsider.get(address).content.decode()
    export = b"".join(outsider.get(reverse("requests:export")).streaming_content).decode()
    assert row.title not in export


@pytest.mark.parametrize("rows", [3, 12])
def test_lists_take_a_fixed_number_of_queries(
    live: market.Stage, browser_of: Any, api_of: Any, rows: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(rows):
        market.submitted(live)
    client, approver = browser_of(live.house.lead), browser_of(live.house.approver)
    with django_assert_max_num_queries(12):
        client.get(reverse("requests:list"))
    with django_assert_max_num_queries(12):
        approver.get(reverse("requests:approvals"))
    api = api_of(live.house.approver)
    with django_assert_max_num_queries(8):
        answer = api.get("/api/v1/requests/")
    assert len(answer.content) < 20_000


class TestApi:
    def body(self, at: market.Stage, **changes: Any) -> dict[str, Any]:
        return {
            "project": at.house.project.slug,
            "business_type": "fine_tuning",
            "spec": market.SPEC,
            "starts_at": (at.now + timedelta(hours=1)).isoformat(),
            "needed_by": (at.now + timedelta(days=4)).isoformat(),
            "submit": True,
            **changes,
        }

    def test_the_same_key_acts_once(self, live: market.Stage, api_of: Any) -> None:
        api = api_of(live.house.member)
        answers = [
            api.post("/api/v1/requests/", self.body(live), headers={"Idempotency-Key": "k1"})
            for _ in range(2)
        ]
        assert [a.status_code for a in answers] == [201, 201]
        assert answers[0].json() == answers[1].json()
        assert ComputeRequest.objects.count() == 1
        other = api.post(
            "/api/v1/requests/",
            self.body(live, reason="another"),
            headers={"Idempotency-Key": "k1"},
        )
        assert other.status_code == 400

    def test_approve_twice_with_a_key_is_one_approval(
        self, live: market.Stage, api_of: Any
    ) -> None:
        row = market.submitted(live)
        api = api_of(live.house.approver)
        address = f"/api/v1/requests/{row.pk}/approve/"
        answers = [api.post(address, {}, headers={"Idempotency-Key": "a"}) for _ in range(2)]
        assert [a.status_code for a in answers] == [200, 200]
        assert api.post(address, {}).status_code == 409

    def test_own_request_403_with_the_reason(self, live: market.Stage, api_of: Any) -> None:
        me = make.user("Max", team=live.house.team, across="approver")
        row = market.submitted(live, me)
        answer = api_of(me).post(f"/api/v1/requests/{row.pk}/approve/", {})
        assert answer.status_code == 403
        assert answer.json() == {
            "code": "own_request",
            "detail": "Nobody decides on their own request.",
        }

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"spec": {**market.SPEC, "samples": "x"}}, "samples"),
            ({"spec": {**market.SPEC, "no": 1}}, "no"),
            ({"business_type": "party"}, "business_type"),
            ({"needed_by": "2020-01-01T00:00:00Z"}, "needed_by"),
        ],
    )
    def test_bad_input_names_its_field(
        self, live: market.Stage, api_of: Any, changes: dict[str, Any], field: str
    ) -> None:
        answer = api_of(live.house.member).post("/api/v1/requests/", self.body(live, **changes))
        assert answer.status_code == 400
        assert answer.json()["field"] == field
        assert ComputeRequest.objects.count() == 0

    def test_import_is_all_or_nothing(self, live: market.Stage, api_of: Any) -> None:
        good = {
            "project": live.house.project.slug,
            "business_type": "fine_tuning",
            "starts_at": self.body(live)["starts_at"],
            "needed_by": self.body(live)["needed_by"],
            **market.SPEC,
        }
        api = api_of(live.house.member)
        bad = api.post("/api/v1/requests/import/", {"rows": [good, {**good, "samples": "x"}]})
        assert bad.status_code == 400
        assert bad.json()["field"] == "2:samples"
        assert ComputeRequest.objects.count() == 0
        done = api.post("/api/v1/requests/import/", {"rows": [good, good], "submit": True})
        assert done.status_code == 201, done.json()
        states = ComputeRequest.objects.values_list("state", flat=True)
        assert list(states) == ["submitted", "submitted"]

    def test_preview_stores_nothing(self, live: market.Stage, api_of: Any) -> None:
        answer = api_of(live.house.member).post("/api/v1/requests/match/", self.body(live))
        assert answer.status_code == 200
        assert answer.json()["packages"][0]["key"]
        assert ComputeRequest.objects.count() == 0
