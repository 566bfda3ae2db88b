"""Ends that come near and budgets that fill up are told once, to those who may know."""

from datetime import date, timedelta

import pytest

from governance.budgets import handlers as budget_handlers
from governance.kernel.policy import SYSTEM
from governance.notices.models import Notice
from governance.plumbing import clock, outbox
from governance.rentals import handlers, services
from tests.budgets.make import budget, hold
from tests.rentals.make import local, rental

NOW = local(2026, 11, 10, 12)


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


def heard():
    outbox.drain()
    return set(Notice.objects.values_list("person__name", flat=True))


def test_an_end_in_a_fortnight_is_told_once(house):
    own = rental(house.project, end=NOW + timedelta(days=13))
    for _run in range(3):
        services.remind(actor=SYSTEM, now=NOW)
    assert heard() == {"Alice", "Lea", "Fay", "Olga"}
    assert Notice.objects.count() == 4
    assert f"R{own.pk}" in str(Notice.objects.first().params)
    services.remind(actor=SYSTEM, now=NOW + timedelta(days=12, hours=1))
    outbox.drain()
    assert Notice.objects.count() == 8
    assert Notice.objects.first().text == handlers.ENDING


def test_an_end_that_has_moved_is_told_no_more(house):
    own = rental(house.project, end=NOW + timedelta(days=13))
    services.remind(actor=SYSTEM, now=NOW)
    services.extend_rental(
        actor=house.finance, rental_id=own.pk, ends_at=NOW + timedelta(days=90), now=NOW
    )
    assert heard() == set()


def test_a_mark_of_a_budget_is_told_to_finance_and_the_lead(house):
    budget("1000", project_id=house.project.pk, first_day=date(2026, 11, 1))
    hold(house.project, "600.00", "a")
    assert heard() == {"Fay", "Lea"}
    assert Notice.objects.first().text == budget_handlers.REACHED
