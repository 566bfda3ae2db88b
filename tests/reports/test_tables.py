"""Files made from a report: the same values, safe in a spreadsheet."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal as D
from zoneinfo import ZoneInfo

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.kernel.reasons import Reason
from governance.reports.domain.tables import (
    BOM,
    Column,
    Result,
    csv_lines,
    guard,
    json_answer,
    plain,
    xlsx,
)

SHANGHAI = ZoneInfo("Asia/Shanghai")
RESULT = Result(
    name="cost",
    title="Cost",
    first=date(2026, 11, 1),
    last=date(2026, 11, 30),
    timezone="Asia/Shanghai",
    currency="CNY",
    columns=[
        Column("group", "Team"),
        Column("billed", "Billed", "money", "CNY"),
        Column("share", "Share", "share"),
        Column("at", "Peak at", "moment"),
    ],
    rows=[
        {
            "group": "=cmd|' /C calc'!A0",
            "billed": D("1234.50"),
            "share": 0.25,
            "at": datetime(2026, 11, 1, 16, tzinfo=UTC),
        },
        {"group": '视觉, "A"', "billed": D("-3.00"), "share": None, "at": None},
    ],
    total={"billed": D("1231.50")},
    notes=[Reason("n", "%(cards)d cards left out", {"cards": 8})],
    filters={"team": "vision"},
)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "  =1", "\r=1", "＝1"]
)
def test_formulas_are_disarmed(text: str) -> None:
    assert guard(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-3.00", "12", "alice@example.test", "a-b", "", "'", "1e5"])
def test_harmless_text_stays(text: str) -> None:
    assert guard(text) == text


@given(st.text())
def test_no_cell_begins_as_a_formula(text: str) -> None:
    assert not plain(text).lstrip().startswith(("=", "@")) or plain(text).startswith("'")


def test_csv_reads_back() -> None:
    content = "".join(csv_lines(RESULT, bom=True))
    assert content.startswith(BOM)
    rows = list(csv.DictReader(io.StringIO(content.removeprefix(BOM))))
    assert rows[0]["group"].startswith("'=")
    assert rows[1] == {"group": '视觉, "A"', "billed": "-3.00", "share": "", "at": ""}


def test_json_keeps_money_as_text_and_unknown_as_null() -> None:
    answer = json_answer(RESULT)
    assert answer["rows"][1] == {"group": '视觉, "A"', "billed": "-3.00", "share": None, "at": None}
    assert answer["total"] == {"billed": "1231.50"}
    assert answer["notes"] == ["8 cards left out"]


def test_the_workbook_has_numbers_and_says_what_was_asked() -> None:
    book = openpyxl.load_workbook(io.BytesIO(xlsx(RESULT, SHANGHAI)))
    sheet, about = book.worksheets
    assert [cell.value for cell in sheet[1]] == ["Team", "Billed (CNY)", "Share", "Peak at"]
    assert sheet["B2"].value == 1234.5
    assert sheet["B2"].number_format == "#,##0.00"
    assert sheet["C3"].value is None
    assert sheet["D2"].value == datetime(2026, 11, 2, 0, 0)
    assert sheet["A2"].data_type == "s"
    assert sheet["B4"].value == 1231.5
    told = {row[0].value: row[1].value for row in about.iter_rows()}
    assert told["Time zone"] == "Asia/Shanghai"
    assert told["team"] == "vision"


def test_the_workbook_speaks_chinese() -> None:
    words = {"Cost": "成本", "Team": "团队", "Total": "合计", "About": "说明"}
    book = openpyxl.load_workbook(
        io.BytesIO(xlsx(RESULT, SHANGHAI, lambda text: words.get(text, text)))
    )
    assert book.sheetnames == ["成本", "说明"]
    assert book.worksheets[0]["A4"].value == "合计"
