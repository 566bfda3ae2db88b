"""Saved views: one's own, sent when they are due and once."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from governance.reports import queries, services
from governance.reports.models import SavedView
from governance.reports.services.mailing import days_of
from tests import make
from tests.rentals.make import charge, local
from tests.reports import fleet

pytestmark = pytest.mark.django_db
MONDAY = local(2026, 11, 30, 9)


def test_saved_under_a_name_and_deleted(house: make.House, browser_of: Any) -> None:
    browser = browser_of(house.lead)
    asked = {"name": "Mine", "rhythm": "weekly", "query": "group_by=project"}
    assert browser.post("/reports/cost/save/", asked).status_code == 302
    assert browser.post("/reports/cost/save/", asked | {"rhythm": ""}).status_code == 302
    view = SavedView.objects.get()
    assert (view.owner, view.rhythm) == (house.lead, "")
    assert b"Mine" in browser.get("/reports/").content
    assert b"Mine" not in browser_of(house.member).get("/reports/").content
    assert browser_of(house.member).post(f"/reports/views/{view.pk}/forget/").status_code == 404
    assert browser.post(f"/reports/views/{view.pk}/forget/").status_code == 302
    assert not SavedView.objects.exists()
    assert browser.post("/reports/nothing/save/", asked).status_code == 404


def test_sent_on_mondays_once_with_what_the_owner_may_see(
    house: make.House, mailoutbox: list[Any]
) -> None:
    fleet.rented(house.project, local(2026, 11, 24), 60)
    fleet.rented(house.other_project, local(2026, 11, 24), 60)
    charge(local(2026, 11, 26))
    services.save_view(actor=house.lead, name="Cost", report="cost", query="", rhythm="weekly")
    assert services.send_due(now=MONDAY - timedelta(days=1)) == 0
    assert services.send_due(now=MONDAY) == 1
    assert services.send_due(now=MONDAY) == 0
    [mail] = mailoutbox
    assert mail.to == [house.lead.email]
    name, content, _ = mail.attachments[0]
    assert name == "cost-2026-11-23-2026-11-29.csv"
    assert "Vision" in content
    assert "Speech" not in content


def test_the_first_of_a_month_covers_the_month_before() -> None:
    assert days_of("monthly", date(2026, 12, 1)) == (date(2026, 11, 1), date(2026, 11, 30))
    assert days_of("monthly", date(2026, 12, 2)) is None
    assert days_of("", date(2026, 12, 1)) is None


@pytest.mark.parametrize("name", sorted(queries.REPORTS))
def test_a_page_takes_the_same_queries_whatever_the_rows(
    house: make.House, browser_of: Any, name: str
) -> None:
    """At most 45, and no more with five rentals than with two."""
    browser = browser_of(house.approver)
    address = f"/reports/{name}/?from=2026-11-02&to=2026-11-03"
    counts = []
    for more in (2, 3):
        for _ in range(more):
            fleet.rented(house.project, local(2026, 11, 2), 60, kind="monthly", price="100.00")
        charge(local(2026, 11, 4))
        browser.get(address)
        with CaptureQueriesContext(connection) as seen:
            assert browser.get(address).status_code == 200
        counts.append(len(seen))
    assert counts[1] <= counts[0] <= 45, counts
