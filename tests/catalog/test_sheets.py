"""Price sheets: the defects of public files are caught, blank is never zero."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from governance.catalog.domain.sheets import Sheet, read_sheet

SKY = (
    "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Price,SpotPrice,"
    "Region,AvailabilityZone\n"
)


def native(
    *lines: str, head: str = "sku,region,card,cards_per_unit,currency,hourly,annual"
) -> Sheet:
    return read_sheet("\n".join([head, *lines]) + "\n", "native")


def codes(faults: object) -> list[str]:
    return [fault.reason.code for fault in faults]  # type: ignore[attr-defined]


def test_native_row() -> None:
    sheet = native("a,cn,RTX 4090,1,CNY,3.2,13000")
    assert not sheet.faults
    (row,) = sheet.rows
    assert row.prices == {"hourly": Decimal("3.2"), "annual": Decimal("13000")}


def test_blank_is_not_offered() -> None:
    (row,) = native("a,cn,RTX 4090,1,CNY,3.2,").rows
    assert "annual" not in row.prices


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("a,cn,RTX 4090,1,CNY,0,", "not_price"),
        ("a,cn,RTX 4090,1,CNY,-3,", "not_price"),
        ("a,cn,RTX 4090,1,CNY,inf,", "not_price"),
        ("a,cn,RTX 4090,1,CNY,cheap,", "not_number"),
        ("a,cn,RTX 4090,0,CNY,3.2,", "not_count"),
        ("a,cn,RTX 4090,1.5,CNY,3.2,", "not_count"),
        ("a,cn,RTX 4090,1,XXQ,3.2,", "currency"),
        ("a,cn,,1,CNY,3.2,", "no_card"),
        ("a,cn,RTX 4090,1,CNY,,", "no_price"),
        ("a,cn,RTX 4090,1,CNY", "sheet"),
        ("a,cn,H100 80GB SXM5,8,CNY,,70000", "band"),
        ("a,cn,A800 80GB SXM4,1,CNY,14.8,10804", "period"),
        ("a,cn,H100 80GB SXM5,1,CNY,2860,", "band"),
    ],
)
def test_bad_rows_name_line_and_reason(line: str, code: str) -> None:
    sheet = native(line)
    assert codes(sheet.faults) == [code]
    assert sheet.faults[0].place == "2"
    assert not sheet.rows


def test_missing_and_unknown_columns() -> None:
    assert codes(read_sheet("sku,hourly\na,1\n", "native").faults) == ["sheet"]
    assert codes(native("x", head="card,currency,hourly,colour").faults) == ["sheet"]


def test_skypilot_host_without_cards_is_not_an_offer() -> None:
    sheet = read_sheet(
        SKY
        + "a2-highgpu-1g,12,85,,,,0.73948,,us-central1,us-central1-a\n"
        + "n2-standard-4,4,16,,,,0.19,,us-central1,us-central1-a\n",
        "skypilot",
    )
    assert not sheet.rows
    assert codes(sheet.skipped) == ["host_only", "no_accelerator"]


def test_skypilot_python_cell_is_data() -> None:
    evil = "\"__import__('os').system('true') {'Gpus': [{'SizeInMiB': 80}]}\""
    line = f"p,8,64,H100,1,{evil},2.5,2.5,eu,eu-1\n"
    sheet = read_sheet(SKY + line, "skypilot")
    assert codes(sheet.warnings) == ["memory_unit", "spot_no_discount"]
    assert sheet.rows[0].prices["hourly"] == Decimal("2.5")


def test_skypilot_no_spot_is_not_zero() -> None:
    (row,) = read_sheet(SKY + "p,8,64,A100,8,,24,,us,us-a\n", "skypilot").rows
    assert "spot" not in row.prices


def test_repeated_rows_count_once_and_contradictions_are_refused() -> None:
    line = "a,cn,RTX 4090,1,CNY,3.2,"
    sheet = native(line, line, "a,cn,RTX 4090,1,CNY,3.3,")
    assert len(sheet.rows) == 1
    assert codes(sheet.skipped) == ["repeated"]
    assert codes(sheet.faults) == ["contradiction"]


def test_currency_slip_within_a_family_is_shown() -> None:
    lines = [
        f"s{i},cn,A10,1,CNY,{price}," for i, price in enumerate(["8.01", "8.2", "8.1", "1.98"])
    ]
    sheet = native(*lines)
    assert [fault.place for fault in sheet.warnings] == ["5"]


def test_gcp_answers(shared_dir: Path) -> None:
    text = (shared_dir / "data/prices/gcp_pricing.yml").read_text(encoding="utf-8")
    sheet = read_sheet(text, "gcp-calculator")
    assert not sheet.faults
    rows = {(row.sku, row.region): row for row in sheet.rows}
    with (shared_dir / "data/prices/gpu_price_sample.csv").open(encoding="utf-8") as file:
        for want in csv.DictReader(file):
            row = rows[want["instance"], want["region"]]
            assert row.cards_per_unit == int(want["count"])
            assert str(row.prices["hourly"]) == want["on_demand_hour"]
            assert str(row.prices["spot"]) == want["spot_hour"]
            year = row.rules.get("annual", {})
            assert year.get("monthly_price", "") == want["month_1y_commit"]
            assert year.get("monthly_price_3_years", "") == want["month_3y_commit"]
            assert row.rules["hourly"]["list_month_730h"] == want["month_list_730h"]
    commit = rows["a2-highgpu-1g", "us-central1"]
    break_even = commit.prices["annual"] / 12 / commit.prices["hourly"]
    assert round(break_even, 1) == Decimal("459.9")
    assert round(100 * break_even / 730, 1) == Decimal("63.0")
    assert "annual" not in rows["a2-ultragpu-1g", "us-central1"].prices


@pytest.mark.parametrize("text", ["", "{", "a: 1", "compute: 3"])
def test_gcp_rubbish_is_one_clear_fault(text: str) -> None:
    assert len(read_sheet(text, "gcp-calculator").faults) == 1
