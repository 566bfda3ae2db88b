"""Budget pages and API as each kind of person gets them."""

from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse

from governance.budgets import services
from governance.budgets.models import Budget, FxRate, Overdraft
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from tests.budgets.make import NOW, budget, hold, spend

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def own(house):
    made = budget("10000", project_id=house.project.pk)
    hold(house.project, "6000.00", "request:1:1")
    spend(house.project, "1500.00", key="request:1:1")
    return made


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_pages_show_the_position(house, own, browser_of, language):
    client = browser_of(house.finance)
    client.cookies["language"] = language
    for name, args in (
        ("list", []),
        ("detail", [own.pk]),
        ("rates", []),
        ("ledger", []),
        ("new", []),
    ):
        answer = client.get(reverse(f"budgets:{name}", args=args))
        assert answer.status_code == 200, name
    page = client.get(reverse("budgets:detail", args=[own.pk])).content.decode()
    for figure in ("10,000.00", "4,500.00", "1,500.00", "4,000.00"):
        assert figure in page


def test_outsiders_get_404_and_members_no_forms(house, own, browser_of):
    detail = reverse("budgets:detail", args=[own.pk])
    assert browser_of(house.outsider).get(detail).status_code == 404
    page = browser_of(house.member).get(detail)
    assert page.status_code == 200
    assert b"overdraft" not in page.content.lower().split(b"<main")[1].split(b"</main")[0].replace(
        b"overdrafts in force", b""
    )
    for name in ("change_limit", "overdraft"):
        url = reverse(f"budgets:{name}", args=[own.pk])
        assert browser_of(house.outsider).post(url, {}).status_code == 404
        assert browser_of(house.member).post(url, {}).status_code == 403
    assert browser_of(house.member).get(reverse("budgets:new")).status_code == 403
    assert browser_of(house.member).get(reverse("budgets:ledger")).status_code == 403
    assert browser_of(house.member).post(reverse("budgets:rates"), {}).status_code == 403


def test_finance_makes_a_budget_changes_it_and_lets_it_be_exceeded(house, browser_of):
    client = browser_of(house.finance)
    form = {
        "owner": f"team:{house.team.pk}", "unit": "month", "first_day": "2026-11-01",
        "limit": "5000.00", "currency": "CNY", "with_tax": "on",
    }  # fmt: skip
    assert client.post(reverse("budgets:new"), {**form, "limit": "x"}).status_code == 200
    assert Budget.objects.count() == 0
    answer = client.post(reverse("budgets:new"), form)
    made = Budget.objects.get()
    assert answer.url == reverse("budgets:detail", args=[made.pk])
    again = client.post(reverse("budgets:new"), form)
    assert again.status_code == 200
    assert b"There is a budget for this owner and period." in again.content
    limit = reverse("budgets:change_limit", args=[made.pk])
    assert client.post(limit, {"limit": "6000", "reason": ""}).status_code == 200
    client.post(limit, {"limit": "6000", "reason": "more work"})
    made.refresh_from_db()
    assert made.limit == 6000
    over = reverse("budgets:overdraft", args=[made.pk])
    client.post(over, {"amount": "500", "expires_on": "2026-11-01", "reason": "late"})
    assert Overdraft.objects.count() == 0
    client.post(over, {"amount": "500", "expires_on": "2026-12-01", "reason": "launch"})
    assert Overdraft.objects.get().reason == "launch"
    client.post(
        reverse("budgets:rates"),
        {"base": "USD", "quote": "CNY", "rate": "7.1", "day": "2026-11-10", "source": "bank"},
    )
    assert FxRate.objects.get().until == date(2026, 11, 11)


def test_the_api_says_the_same(house, own, api_of):
    client = api_of(house.member)
    body = client.get("/api/v1/budgets/").json()
    assert body["count"] == 1
    row = body["results"][0]
    assert (row["limit"], row["held"], row["spent"], row["free"]) == (
        "10000.00", "4500.00", "1500.00", "4000.00",
    )  # fmt: skip
    assert client.get(f"/api/v1/budgets/{own.pk}/entries/").json()["count"] == 3
    assert api_of(house.outsider).get(f"/api/v1/budgets/{own.pk}/").status_code == 404
    assert client.get("/api/v1/ledger/accounts/").status_code == 403
    denied = client.post(f"/api/v1/budgets/{own.pk}/limit/", {"limit": "1", "reason": "x"})
    assert denied.status_code == 403


def test_api_posts_are_kept_once_by_their_key(house, api_of):
    client = api_of(house.finance)
    body = {
        "project": house.project.pk, "unit": "month", "first_day": "2026-11-01",
        "currency": "CNY", "limit": "1000.00",
    }  # fmt: skip
    first = client.post("/api/v1/budgets/", body, HTTP_IDEMPOTENCY_KEY="k1")
    second = client.post("/api/v1/budgets/", body, HTTP_IDEMPOTENCY_KEY="k1")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert Budget.objects.count() == 1
    wrong = client.post("/api/v1/budgets/", {**body, "currency": "RMB"})
    assert wrong.status_code == 400
    assert wrong.json()["field"] == "currency"
    rate = {"base": "USD", "quote": "CNY", "day": "2026-11-10", "rate": "7.1", "source": "bank"}
    assert client.post("/api/v1/fx-rates/", rate).status_code == 201
    assert client.get("/api/v1/fx-rates/").json()["count"] == 1
    over = {"amount": "10.00", "reason": "launch", "expires_at": "2026-12-01T00:00:00+08:00"}
    granted = client.post(f"/api/v1/budgets/{first.json()['id']}/overdraft/", over)
    assert granted.json()["overdraft"] == "10.00"


def test_the_list_asks_the_same_number_of_questions_for_more_rows(
    house, browser_of, django_assert_max_num_queries
):
    client = browser_of(house.finance)
    for number in range(12):
        services.create_budget(
            actor=SYSTEM, unit="month", first_day=date(2026, number % 12 + 1, 1), currency="CNY",
            limit=Decimal(10), project_id=house.project.pk,
        )  # fmt: skip
    with django_assert_max_num_queries(15):
        client.get(reverse("budgets:list"), {"when": "all"})
