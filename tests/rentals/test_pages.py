"""Rental pages and API as each kind of person gets them."""

from datetime import date, timedelta

import pytest
from django.urls import reverse

from governance.plumbing import clock
from governance.rentals import services
from governance.rentals.models import Month, Rental, RentalChange
from tests.rentals.make import charge, local, rental
from tests.rentals.test_preview import EXAMPLE, PLANS
from tests.rentals.test_purchase import NOW, approved  # noqa: F401

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def own(house):
    made = rental(house.project, "monthly", "3100.00", start=local(2026, 10, 11), cards=8)
    charge(NOW)
    made.refresh_from_db()
    return made


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_pages_show_what_was_charged(house, own, browser_of, language):
    client = browser_of(house.finance)
    client.cookies["language"] = language
    pages = [("list", []), ("detail", [own.pk]), ("preview", []), ("months", [])]
    for name, args in pages:
        assert client.get(reverse(f"rentals:{name}", args=args)).status_code == 200, name
    page = client.get(reverse("rentals:detail", args=[own.pk])).content.decode()
    assert "6,200.00" in page
    assert "3,100.00" in page


def test_outsiders_get_404_and_members_no_forms(house, own, browser_of):
    detail = reverse("rentals:detail", args=[own.pk])
    assert browser_of(house.outsider).get(detail).status_code == 404
    page = browser_of(house.member).get(detail)
    assert page.status_code == 200
    assert reverse("rentals:end_early", args=[own.pk]).encode() not in page.content
    for what in ("price", "quantity", "extend", "end_early", "stop", "start", "cards"):
        url = reverse(f"rentals:{what}", args=[own.pk])
        assert browser_of(house.outsider).post(url, {}).status_code == 404
        assert browser_of(house.member).post(url, {}).status_code == 403
    assert browser_of(house.member).get(reverse("rentals:months")).status_code == 403
    assert RentalChange.objects.count() == 0


def test_changes_by_their_forms(house, own, browser_of):
    client = browser_of(house.operator)
    url = reverse("rentals:price", args=[own.pk])
    wrong = client.post(url, {"price-price": "x", "price-at": "2026-12-05T00:00"})
    assert wrong.status_code == 200
    client.post(
        url, {"price-price": "6200", "price-at": "2026-12-01T09:30", "price-reason": "bigger"}
    )
    change = RentalChange.objects.get()
    assert (change.price, change.at) == (6200, local(2026, 12, 1, 9, 30))
    refused = client.post(
        reverse("rentals:stop", args=[own.pk]),
        {"stop-at": "2026-12-02T00:00", "stop-reason": "x"},
    )
    assert refused.status_code == 200
    assert b"A prepaid rental costs the same when stopped" in refused.content
    client.post(
        reverse("rentals:end_early", args=[own.pk]),
        {"end_early-at": "2026-12-06T00:00", "end_early-reason": "done"},
    )
    own.refresh_from_db()
    assert own.state == "ended_early"
    assert own.ends_at == local(2026, 12, 6)


def test_renewing_itself_is_switched(house, browser_of):
    own = rental(house.project, "monthly", "1.00", start=local(2026, 11, 1), end=local(2027, 1, 1))
    client = browser_of(house.operator)
    url = reverse("rentals:renewal", args=[own.pk])
    assert url.encode() in client.get(reverse("rentals:detail", args=[own.pk])).content
    client.post(url, {"on": "yes"})
    own.refresh_from_db()
    assert own.auto_renew
    client.post(url, {"on": "no"})
    own.refresh_from_db()
    assert not own.auto_renew


def test_buying_shows_every_charge_before_it_is_done(house, approved, browser_of):  # noqa: F811
    client = browser_of(house.operator)
    url = reverse("rentals:buy", args=[approved.pk])
    assert (
        reverse("rentals:buy", args=[approved.pk]).encode()
        in client.get(reverse("rentals:list")).content
    )
    page = client.get(url)
    assert page.status_code == 200
    form = {"plan_kind": "hourly", "starts_at": "2026-12-01T09:00", "ends_at": "2026-12-02T09:00"}
    shown = client.post(url, {**form, "act": "preview"}).content.decode()
    assert Rental.objects.count() == 0
    units = int(approved.package["units"])
    assert f"3.20 x {units} x 15 h" in shown
    answer = client.post(url, {**form, "act": "buy"})
    made = Rental.objects.get()
    assert answer.url == reverse("rentals:detail", args=[made.pk])
    assert client.post(url, {**form, "act": "buy"}).status_code in (200, 409)
    assert Rental.objects.count() == 1
    assert browser_of(house.member).get(url).status_code == 403


def test_the_preview_page_counts_as_the_command_does(house, browser_of):
    asked = {
        "kind": "monthly", "price": "2304", "currency": "CNY", "quantity": "1", "rules": "plain",
        "starts_at": "2026-01-25T00:00", "ends_at": "2026-02-03T00:00",
        "change_at": "2026-02-01T00:00", "change_price": "4000",
    }  # fmt: skip
    client = browser_of(house.member)
    page = client.get(reverse("rentals:preview"), asked).content.decode()
    for figure in ("668.90", "−148.64", "258.06", "778.32"):
        assert figure in page
    for field, value in (("price", "-1"), ("ends_at", "2026-01-01T00:00"), ("currency", "RMB")):
        wrong = client.get(reverse("rentals:preview"), {**asked, field: value})
        assert wrong.status_code == 200
        assert "778.32" not in wrong.content.decode()


def test_months_are_closed_by_finance(house, browser_of):
    rental(house.project, start=local(2026, 10, 20), end=local(2026, 11, 5))
    charge(NOW)
    client = browser_of(house.finance)
    url = reverse("rentals:months")
    client.post(url)
    client.post(url)
    assert client.post(url).status_code == 409
    assert list(Month.objects.values_list("month", flat=True)) == [
        date(2026, 11, 1), date(2026, 10, 1),
    ]  # fmt: skip
    report = client.get(reverse("rentals:month_report", args=[2026, 10]))
    assert report.json()["month"] == "2026-10"
    assert client.get(reverse("rentals:month_report", args=[2020, 1])).status_code == 404


def test_the_api(house, own, approved, api_of):  # noqa: F811
    client = api_of(house.operator)
    assert client.get("/api/v1/rentals/").json()["count"] == 1
    assert api_of(house.outsider).get("/api/v1/rentals/").json()["count"] == 0
    assert api_of(house.outsider).get(f"/api/v1/rentals/{own.pk}/").status_code == 404
    charges = client.get(f"/api/v1/rentals/{own.pk}/charges/").json()
    assert [row["net"] for row in charges["results"]] == ["3100.00", "3100.00"]
    body = {"request": approved.pk, "plan_kind": "hourly", "starts_at": NOW.isoformat()}
    assert api_of(house.member).post("/api/v1/rentals/", body).status_code == 403
    first = client.post("/api/v1/rentals/", body, HTTP_IDEMPOTENCY_KEY="a")
    second = client.post("/api/v1/rentals/", body, HTTP_IDEMPOTENCY_KEY="a")
    assert (first.status_code, second.json()) == (201, first.json())
    shown = client.get(f"/api/v1/rentals/{first.json()['id']}/preview/").json()
    assert float(shown["totals"]["gross"]) > 0
    changes = f"/api/v1/rentals/{own.pk}/changes/"
    assert client.post(changes, {"kind": "price", "price": "1"}).json()["field"] == "at"
    at = (NOW + timedelta(days=3)).isoformat()
    made = client.post(changes, {"kind": "price", "price": "1", "at": at, "reason": "x"})
    assert made.status_code == 201
    assert client.post(changes, {"kind": "stop", "at": at, "reason": "x"}).status_code == 409
    assert api_of(house.member).post(changes, {"kind": "stop", "at": at}).status_code == 403


def test_the_rules_by_api(house, api_of):
    client = api_of(house.member)
    assert client.post("/api/v1/rentals/preview/", EXAMPLE).json()["totals"]["net"] == "778.32"
    assert client.post("/api/v1/rentals/compare/", PLANS).json()["advice"] == "hourly"
    wrong = client.post("/api/v1/rentals/preview/", {**EXAMPLE, "currency": "RMB"})
    assert (wrong.status_code, wrong.json()["field"]) == (400, "currency")
    assert client.get("/api/v1/months/").status_code == 403
    finance = api_of(house.finance)
    assert finance.get("/api/v1/months/").json() == []
    assert finance.post("/api/v1/months/", {"month": "2026-12-01"}).status_code == 409


def test_the_list_asks_the_same_number_of_questions_for_more_rows(
    house, browser_of, django_assert_max_num_queries
):
    for _number in range(12):
        rental(house.project, start=local(2026, 11, 20), now=local(2026, 11, 20))
    client = browser_of(house.finance)
    with django_assert_max_num_queries(15):
        client.get(reverse("rentals:list"))
    assert services.remind(actor=house.finance, now=NOW) == 0
