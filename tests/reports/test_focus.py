"""FOCUS files: judged by an outside linter, and held to what it does not look at."""

import csv
import io
from collections import defaultdict
from decimal import Decimal as D

import pytest
from focus_data_toolkit.model.validator import lint_focus_1_4_structure
from focus_data_toolkit.validate.bundle import validate_dataset_bundle
from hypothesis import given
from hypothesis import strategies as st

from governance.kernel.periods import Period
from governance.reports.domain import focus, focus_rows
from governance.reports.domain.focus import Charge
from tests.reports.focus_sample import (
    ANNUAL,
    MONTHLY,
    NOVEMBER,
    SHANGHAI,
    USE,
    annual_charges,
    at,
    month,
    monthly_charges,
    november,
    smaller,
    text,
)

CONDITIONS = ["SupportsUnitPricing", "SupportsMultiplePricingCategories"]
NAMES = ["Contract Commitment", "Billing Period", "Invoice Detail"]


def read(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content)))


def files() -> dict[str, list[dict[str, str]]]:
    bundle = {"Cost and Usage": read(text(november(), "1.4"))}
    for name, dataset in zip(NAMES, smaller(), strict=True):
        out = io.StringIO()
        dataset.write(out)
        bundle[name] = read(out.getvalue())
    return bundle


@pytest.mark.parametrize("name", ["Cost and Usage", *NAMES])
def test_the_linter_finds_nothing(name: str) -> None:
    report = lint_focus_1_4_structure(name, files()[name], supported_conditions=CONDITIONS)
    assert report.messages() == []
    assert report.row_count > 0


def test_the_linter_would_find_a_fault() -> None:
    rows = files()["Cost and Usage"]
    rows[0]["BillingCurrency"] = "RMB"
    assert lint_focus_1_4_structure("Cost and Usage", rows).messages()


def test_the_four_files_agree() -> None:
    report = validate_dataset_bundle(files())
    assert report.ok, report.format()
    assert "contract_applied_fk" in report.checks_run


@pytest.mark.parametrize("version", ["1.2", "1.4"])
def test_what_no_judge_looks_at(version: focus.Version) -> None:
    rows = read(text(november(), version))
    for row in rows:
        assert row["ChargePeriodStart"] < row["ChargePeriodEnd"]
        assert row["BillingPeriodStart"] == "2026-10-31T16:00:00Z"
        covered = row["PricingCategory"] == "Committed"
        assert bool(row["CommitmentDiscountStatus"]) == covered
        assert (row["ChargeCategory"] != "Purchase") or D(row["EffectiveCost"]) == 0
    assert len({row["x_ChargeKey"] for row in rows}) == len(rows)
    assert {row["ChargeCategory"] for row in rows} == {
        "Usage",
        "Purchase",
        "Tax",
        "Credit",
        "Adjustment",
    }


def test_versions_differ_only_in_their_own_columns() -> None:
    old, new = read(text(november(), "1.2")), read(text(november(), "1.4"))
    shared = set(old[0]) & set(new[0])
    assert set(old[0]) - shared == {"ProviderName", "PublisherName"}
    for before, after in zip(old, new, strict=True):
        differ = {column for column in shared if before[column] != after[column]}
        assert differ <= (
            {"EffectiveCost", "PricingCurrencyEffectiveCost"}
            if before["ChargeCategory"] == "Tax"
            else set()
        )


def test_every_number_has_a_point() -> None:
    for row in read(text(november(), "1.2")):
        for column, value in row.items():
            if value and column.endswith(("Cost", "Price", "Quantity")):
                assert "." in value, column


@pytest.mark.parametrize(
    ("contract", "charges", "months", "bought"),
    [
        (MONTHLY, monthly_charges(), ["2026-10", "2026-11", "2026-12"], D("15984.00")),
        (
            ANNUAL,
            annual_charges()[:1],
            [f"2026-{m:02}" for m in range(9, 13)] + [f"2027-{m:02}" for m in range(1, 9)],
            D("175200.00"),
        ),
    ],
)
def test_a_commitment_conserves_what_was_bought(
    contract: focus.Contract, charges: list[Charge], months: list[str], bought: D
) -> None:
    totals: dict[str, D] = defaultdict(D)
    for name in months:
        for row in focus_rows.month_rows(contract, charges, month(name), SHANGHAI, USE):
            if row["CommitmentDiscountStatus"]:
                totals["effective"] += D(row["EffectiveCost"])
            if row["ChargeCategory"] == "Purchase":
                totals["billed"] += D(row["BilledCost"])
    assert totals == {"effective": bought, "billed": bought}


def test_a_month_of_the_annual_costs_what_its_days_cost() -> None:
    """365 days of 24 h: 20.00 an hour, November 14,400.00."""
    rows = [
        row
        for row in focus_rows.month_rows(ANNUAL, annual_charges()[:1], NOVEMBER, SHANGHAI)
        if row["CommitmentDiscountStatus"]
    ]
    assert sum(D(row["EffectiveCost"]) for row in rows) == D("14400.00")
    assert sum(D(row["CommitmentDiscountQuantity"]) for row in rows) == 720


def test_an_idle_day_is_unused_and_consumes_nothing() -> None:
    rows = [r for r in november() if r["CommitmentDiscountId"] == "R-2"]
    by_day = defaultdict(list)
    for row in rows:
        if row["CommitmentDiscountStatus"]:
            by_day[row["ChargePeriodStart"]].append(row)
    idle = by_day["2026-11-19T16:00:00Z"]
    assert [(r["CommitmentDiscountStatus"], r["ConsumedQuantity"]) for r in idle] == [
        ("Unused", "")
    ]
    part = by_day["2026-11-20T16:00:00Z"]
    assert [(r["CommitmentDiscountStatus"], r["PricingQuantity"]) for r in part] == [
        ("Used", "17.5"),
        ("Unused", "6.5"),
    ]


def test_tax_of_1_2_follows_effective_cost() -> None:
    old = next(r for r in read(text(november(), "1.2")) if r["x_ChargeKey"] == "m3")
    new = next(r for r in read(text(november(), "1.4")) if r["x_ChargeKey"] == "m3")
    assert D(new["EffectiveCost"]) == D("479.52")
    effective = sum(D(r["EffectiveCost"]) for r in november() if r["CommitmentDiscountId"] == "R-2")
    assert D(old["EffectiveCost"]) == (effective * D("0.06")).quantize(D("1e-8"))


ENDS = at("2026-11-20")


@given(st.integers(1, 10**7), st.integers(0, 10**7), st.booleans())
def test_nothing_is_lost_by_a_refund_or_an_early_end(fee: int, refund: int, ended: bool) -> None:
    whole = Period(at("2026-11-05"), at("2026-12-05"))
    rest = Period(ENDS, whole.end)
    price = D(fee) / 100
    back = min(price, D(refund) / 100)
    charges = [
        Charge("1", "charge", whole, price, NOVEMBER, None),
        Charge("2", "credit", rest, -back, NOVEMBER, None),
    ]
    parts = focus_rows.amortise(charges, SHANGHAI, ENDS if ended else None)
    assert sum(part.amount for part in parts) == price - back
    if ended:
        assert all(part.period.start < ENDS for part in parts)
