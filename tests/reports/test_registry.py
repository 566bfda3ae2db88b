"""Reports by page, API, export and command: the same numbers, and only what one may see."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from decimal import Decimal as D
from typing import Any

import openpyxl
import pytest
from django.core.management import call_command

from governance.kernel.errors import Invalid, Missing
from governance.reports import queries
from governance.reports.viewers import EVERYTHING
from tests import make
from tests.rentals.make import charge, local
from tests.reports import fleet

pytestmark = pytest.mark.django_db

START = local(2026, 11, 2)
NOW = START + timedelta(days=10)
ASKED = {"from": "2026-11-02", "to": "2026-11-03", "timezone": "Asia/Shanghai"}


@pytest.fixture
def two_days(house: make.House) -> make.House:
    """Two days: Vision's two cards at 20 %, Speech's card active half of its time at 60 %."""
    fleet.rented(house.project, START, 2 * 1440, cards=2)
    fleet.rented(
        house.other_project,
        START,
        2 * 1440,
        kind="monthly",
        price="7992.00",
        vendor="CloudB",
        active_samples=30,
        bandwidth_mean=0.3,
        bandwidth_active_mean=0.6,
    )
    charge(START + timedelta(days=2))
    return house


def run(name: str, viewer: Any = EVERYTHING, **asked: str) -> Any:
    return queries.run(name, viewer, ASKED | asked, NOW)


def test_utilisation_by_team(two_days: make.House) -> None:
    rows = {row["group"]: row for row in run("utilization").rows}
    vision, speech = rows["Vision"], rows["Speech"]
    assert vision["bandwidth_share_active_mean"] == pytest.approx(0.2)
    assert vision["under_30_time_share"] == 1.0
    assert (vision["cards"], vision["card_hours"]) == (2, 96.0)
    assert vision["coverage"] == pytest.approx(1.0)
    assert speech["bandwidth_share_mean"] == pytest.approx(0.3)
    assert speech["bandwidth_share_active_mean"] == pytest.approx(0.6)
    assert speech["active_share"] == pytest.approx(0.5)


def test_the_total_is_weighted_by_samples(two_days: make.House) -> None:
    total = run("utilization").total
    assert total["bandwidth_share_mean"] == pytest.approx((2 * 0.2 + 0.3) / 3)
    active = (2 * 60 * 0.2 + 30 * 0.6) / 150
    assert total["bandwidth_share_active_mean"] == pytest.approx(active)


@pytest.mark.parametrize("key", ["vendor", "plan"])
def test_groups_that_come_by_way_of_the_rental(two_days: make.House, key: str) -> None:
    by_team = [r["bandwidth_share_mean"] for r in run("utilization").rows]
    by_key = [r["bandwidth_share_mean"] for r in run("utilization", group_by=key).rows]
    assert sorted(by_key) == pytest.approx(sorted(by_team))


@pytest.mark.parametrize("key", queries.REPORTS["utilization"].groups)
def test_every_group_keeps_every_hour(two_days: make.House, key: str) -> None:
    rows = run("utilization", group_by=key).rows
    assert sum(row["card_hours"] for row in rows) == pytest.approx(144.0)


def test_an_outsider_sees_their_own_team_only(two_days: make.House) -> None:
    rows = run("utilization", two_days.outsider).rows
    assert [row["group"] for row in rows] == ["Speech"]
    assert [row["group"] for row in run("cost", two_days.outsider).rows] == ["Speech"]
    with pytest.raises(Invalid) as refused:
        run("utilization", two_days.outsider, team=two_days.team.slug)
    assert refused.value.field == "team"


def test_cost_by_team_and_by_day(two_days: make.House) -> None:
    rows = {row["group"]: row for row in run("cost").rows}
    assert rows["Vision"]["billed"] == D("1420.80")  # 2 x 48 h x 14.80
    assert rows["Vision"]["amortised"] == D("1420.80")
    assert rows["Vision"]["idle"] == D("0.00")
    assert rows["Vision"]["unused"] is None
    assert rows["Speech"]["billed"] == D("7992.00")
    assert rows["Speech"]["amortised"] == D("532.80")  # 2 of 30 days
    assert rows["Speech"]["unused"] == D("266.40")  # idle half of them
    days = run("cost", group_by="day").rows
    assert sum(row["billed"] for row in days) == D("9412.80")
    assert [row["group"] for row in days] == ["2026-11-02", "2026-11-03"]
    assert run("cost", group_by="none").total["billed"] == D("9412.80")


@pytest.mark.parametrize("key", queries.REPORTS["cost"].groups)
def test_no_grouping_of_cost_loses_a_cent(two_days: make.House, key: str) -> None:
    total = run("cost", group_by=key).total
    assert (total["billed"], total["amortised"]) == (D("9412.80"), D("1953.60"))


def test_the_command_the_api_and_the_files_agree(
    two_days: make.House, api_of: Any, browser_of: Any
) -> None:
    out = io.StringIO()
    call_command("report", "cost", "--from=2026-11-02", "--to=2026-11-03", stdout=out)
    told = json.loads(out.getvalue())
    assert set(told) == {
        "report",
        "from",
        "to",
        "timezone",
        "currency",
        "generated_at",
        "filters",
        "rows",
        "total",
        "notes",
    }
    answer = api_of(two_days.finance).get("/api/v1/reports/cost/", ASKED).json()
    assert answer["rows"] == told["rows"]
    assert answer["total"] == told["total"]
    browser = browser_of(two_days.finance)
    address = "/reports/cost.{}?from=2026-11-02&to=2026-11-03&sort=-billed"
    page = browser.get("/reports/cost/?from=2026-11-02&to=2026-11-03&sort=-billed")
    assert page.status_code == 200
    text = b"".join(browser.get(address.format("csv")).streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["group"] for row in rows] == ["Speech", "Vision"]
    assert [row["billed"] for row in rows] == ["7992.00", "1420.80"]
    book = openpyxl.load_workbook(io.BytesIO(browser.get(address.format("xlsx")).content))
    assert [book.worksheets[0].cell(line, 2).value for line in (2, 3)] == [7992.0, 1420.8]


@pytest.mark.parametrize("name", sorted(queries.REPORTS))
def test_every_report_opens(two_days: make.House, browser_of: Any, api_of: Any, name: str) -> None:
    browser = browser_of(two_days.approver)
    for query in ("", "?from=2026-11-02&to=2026-11-03"):
        page = browser.get(f"/reports/{name}/{query}")
        assert page.status_code == 200, name
    found = queries.REPORTS[name]
    for key in found.groups:
        page = browser.get(f"/reports/{name}/?from=2026-11-02&to=2026-11-03&group_by={key}")
        assert page.status_code == 200
    assert api_of(two_days.member).get(f"/api/v1/reports/{name}/", ASKED).status_code == 200


def test_pages_around_the_reports(two_days: make.House, browser_of: Any) -> None:
    browser = browser_of(two_days.member)
    for address in ("/reports/", "/reports/key-figures/"):
        assert browser.get(address).status_code == 200
    assert browser.get("/reports/nothing/").status_code == 404


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"from": "2026-11-31"}, "from"),
        ({"from": "2026-11-05", "to": "2026-11-04"}, "from"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"group_by": "colour"}, "group_by"),
        ({"team": "nobody"}, "team"),
        ({"rental": "x"}, "rental"),
        ({"from": "1900-01-01"}, "from"),
    ],
)
def test_bad_input_is_named(
    house: make.House, browser_of: Any, asked: dict[str, str], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        run("utilization", **asked)
    assert refused.value.field == field
    page = browser_of(house.member).get("/reports/utilization/", ASKED | asked)
    assert page.status_code == 400


def test_the_command_refuses_in_one_line(house: make.House) -> None:
    err = io.StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("report", "cost", "--group-by=colour", stderr=err)
    assert stopped.value.code == 1
    assert err.getvalue().startswith("group_by: ")
    assert len(err.getvalue().splitlines()) == 1


def test_an_unknown_report_is_missing(house: make.House) -> None:
    with pytest.raises(Missing):
        run("nothing")
