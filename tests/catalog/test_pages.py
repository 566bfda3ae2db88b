"""The catalogue's pages and API as people see them."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from governance.catalog.models import Figure, Offer
from governance.catalog.services import seed_catalogue
from governance.kernel.policy import SYSTEM
from tests.make import House

SHEET = "sku,region,card,cards_per_unit,currency,hourly\na,cn,RTX 4090,1,CNY,3.2\n"


@pytest.fixture
def shop(house: House) -> House:
    seed_catalogue(actor=SYSTEM)
    return house


@pytest.mark.parametrize("name", ["index", "vendors", "offers"])
def test_everybody_sees_the_catalogue(shop: House, browser_of: Any, name: str) -> None:
    for person in (shop.member, shop.outsider, shop.operator):
        assert browser_of(person).get(reverse(f"catalog:{name}")).status_code == 200


def test_a_card_shows_every_source_and_the_conflict(shop: House, browser_of: Any) -> None:
    page = browser_of(shop.member).get(reverse("catalog:card", args=["a800-80gb-sxm4"]))
    text = page.content.decode()
    for word in ("2,039", "933", "vendor claim", "sources differ", "5120 bit x 3.186 Gbit/s / 8"):
        assert word in text
    assert browser_of(shop.member).get("/catalogue/cards/nothing/").status_code == 404


def test_only_operators_import(shop: House, browser_of: Any) -> None:
    url = reverse("catalog:import")
    assert browser_of(shop.member).get(url).status_code == 403
    browser = browser_of(shop.operator)
    given = {"vendor": "AutoDL", "form": "native", "text": SHEET}
    dry = browser.post(url, given)
    assert "new" in dry.content.decode()
    assert not Offer.objects.exists()
    assert browser.post(url, {**given, "apply": "1"}).status_code == 302
    assert Offer.objects.get().vendor.slug == "autodl"
    page = browser_of(shop.member).get(reverse("catalog:offers")).content.decode()
    assert "3.2 CNY" in page


def test_a_bad_row_is_shown_and_nothing_applies(shop: House, browser_of: Any) -> None:
    bad = SHEET + "b,cn,RTX 4090,1,CNY,0\n"
    given = {"vendor": "AutoDL", "form": "native", "text": bad, "apply": "1"}
    page = browser_of(shop.operator).post(reverse("catalog:import"), given)
    assert page.status_code == 200
    assert "leave it empty" in page.content.decode()
    assert not Offer.objects.exists()


def test_an_empty_import_says_what_is_missing(shop: House, browser_of: Any) -> None:
    page = browser_of(shop.operator).post(
        reverse("catalog:import"), {"vendor": "x", "form": "native"}
    )
    assert "Choose a file" in page.content.decode()


def test_confirming_a_figure(shop: House, browser_of: Any) -> None:
    url = reverse("catalog:confirm", args=["ascend-910b3"])
    given = {"figure": "bandwidth_gbs", "value": "1228", "reference": "copy test"}
    assert browser_of(shop.member).post(url, given).status_code == 403
    assert browser_of(shop.operator).post(url, {**given, "value": "0"}).status_code == 400
    assert browser_of(shop.operator).post(url, given).status_code == 302
    assert Figure.objects.filter(source_kind="user").count() == 1


def test_api(shop: House, api_of: Any) -> None:
    client = api_of(shop.member)
    cards = client.get("/api/v1/card-models").json()
    assert len(cards) == 54
    a800 = client.get("/api/v1/card-models/a800-80gb-sxm4").json()
    bandwidth = [f for f in a800["figures"] if f["figure"] == "bandwidth_gbs"]
    assert {f["value"] for f in bandwidth} == {2039.0, 933.0}
    assert [f["value"] for f in bandwidth if f["used"]] == [2039.0]
    assert all(f["conflict"] for f in bandwidth)
    sheet = {"vendor": "AutoDL", "format": "native", "text": SHEET, "dry_run": False}
    assert client.post("/api/v1/price-sheets", sheet, format="json").status_code == 403
    report = api_of(shop.operator).post("/api/v1/price-sheets", sheet, format="json").json()
    assert report["applied"]
    assert [row["state"] for row in report["rows"]] == ["new"]
    offers = client.get("/api/v1/offers").json()
    assert [p["price"] for p in offers[0]["prices"]] == ["3.200000000000000"]
    assert client.get("/api/v1/offers?on=soon").status_code == 400
    assert client.get("/api/v1/card-models/none").status_code == 404
