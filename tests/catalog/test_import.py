"""Importing prices into the database."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from governance.catalog import queries
from governance.catalog.models import CardModel, Figure, Offer, OfferPrice, Vendor
from governance.catalog.services import confirm_figure, import_prices, seed_catalogue
from governance.kernel.errors import Denied, Invalid
from governance.kernel.policy import SYSTEM
from governance.plumbing.models import AuditEvent
from tests.make import House

DAY = date(2026, 12, 1)
HEAD = "sku,region,card,cards_per_unit,currency,hourly,monthly,as_of\n"
ONE = HEAD + "a,cn,RTX 4090,1,CNY,3.2,1700,2026-12-01\n"


@pytest.fixture
def catalogue(db: None) -> None:
    seed_catalogue(actor=SYSTEM)


def bring(text: str, *, dry_run: bool = False, today: date = DAY) -> object:
    return import_prices(
        actor=SYSTEM, text=text, form="native", vendor="AutoDL", today=today, dry_run=dry_run
    )


def test_seed_twice_adds_nothing(catalogue: None) -> None:
    assert CardModel.objects.count() == 54
    assert Vendor.objects.count() == 7
    assert not any(seed_catalogue(actor=SYSTEM).values())


def test_import_dry_run_writes_nothing(catalogue: None) -> None:
    report = bring(ONE, dry_run=True)
    assert report.count("new") == 1  # type: ignore[attr-defined]
    assert not report.applied  # type: ignore[attr-defined]
    assert not Offer.objects.exists()


def test_same_sheet_twice_changes_nothing(catalogue: None) -> None:
    bring(ONE)
    events = AuditEvent.objects.count()
    before = list(OfferPrice.objects.values())
    report = bring(ONE)
    assert (report.count("same"), report.count("changed")) == (1, 0)  # type: ignore[attr-defined]
    assert list(OfferPrice.objects.values()) == before
    assert AuditEvent.objects.count() == events + 1


def test_one_bad_row_and_nothing_is_written(catalogue: None) -> None:
    report = bring(ONE + "b,cn,RTX 4090,1,CNY,free,,2026-12-01\n")
    assert [row.place for row in report.refused] == ["3"]  # type: ignore[attr-defined]
    assert not Offer.objects.exists()


def test_new_price_closes_the_old_one(catalogue: None) -> None:
    bring(ONE)
    bring(ONE.replace("3.2", "3.0").replace("2026-12-01", "2026-12-10"))
    prices = OfferPrice.objects.filter(kind="hourly").order_by("valid_from")
    assert [(p.price, p.valid_from, p.valid_to) for p in prices] == [
        (Decimal("3.2"), DAY, date(2026, 12, 10)),
        (Decimal("3.0"), date(2026, 12, 10), None),
    ]
    for day, price in ((date(2026, 12, 9), "3.2"), (date(2026, 12, 10), "3.0")):
        (offer,) = queries.offers_on(day)
        assert {p.kind: p.price for p in offer.prices}["hourly"] == Decimal(price)
    assert queries.offers_on(date(2026, 11, 30)) == []


def test_unknown_card_is_kept_without_figures(catalogue: None) -> None:
    report = bring(HEAD + "x,cn,Mystery 9000,1,CNY,3.2,,2026-12-01\n")
    assert report.unknown_cards == ["Mystery 9000"]  # type: ignore[attr-defined]
    (offer,) = queries.offers_on(DAY)
    assert offer.card.bandwidth_bytes_per_s is None
    assert offer.card.matrix_flops is None


def test_database_card_equals_the_packaged_one(catalogue: None) -> None:
    from governance.catalog.domain import load_cards

    for slug, card in load_cards().items():
        row = CardModel.objects.get(slug=slug)
        found = queries.card_spec(row.pk)
        assert found is not None
        assert {f: getattr(found, f) for f in found.__slots__ if f != "aliases"} == {
            f: getattr(card, f) for f in card.__slots__ if f != "aliases"
        }


def test_confirmed_figure_wins_and_the_others_stay(catalogue: None) -> None:
    card = CardModel.objects.get(slug="ascend-910b3")
    confirm_figure(
        actor=SYSTEM,
        card_model_id=card.pk,
        figure="bandwidth_gbs",
        value=1228.0,
        reference="npu-smi and a copy test on node 3",
        today=DAY,
    )
    spec = queries.card_spec(card.pk)
    assert spec is not None
    assert spec.bandwidth_bytes_per_s == 1228e9
    assert spec.bandwidth_confirmed
    assert Figure.objects.filter(card_model=card, figure="bandwidth_gbs").count() == 3


def test_members_may_not_import(house: House) -> None:
    with pytest.raises(Denied):
        import_prices(actor=house.member, text=ONE, form="native", vendor="X", today=DAY)


@pytest.mark.parametrize(("form", "vendor"), [("xlsx", "X"), ("native", " ")])
def test_bad_options(catalogue: None, form: str, vendor: str) -> None:
    with pytest.raises(Invalid):
        import_prices(actor=SYSTEM, text=ONE, form=form, vendor=vendor, today=DAY)
