"""`export_focus` on charged rentals: judged from outside, and held to the charges."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F, Sum
from focus_data_toolkit.model.validator import lint_focus_1_4_structure
from focus_data_toolkit.validate.bundle import validate_dataset_bundle

from governance.rentals.domain.terms import Tax
from governance.rentals.models import Charge, Rental
from tests import make
from tests.rentals.make import charge, local, rental

pytestmark = pytest.mark.django_db

NAMES = {
    "cost_and_usage.csv": "Cost and Usage",
    "contract_commitment.csv": "Contract Commitment",
    "billing_period.csv": "Billing Period",
    "invoice_detail.csv": "Invoice Detail",
}
TAX = Tax(D("0.06"), inclusive=True)


@pytest.fixture
def charged(house: make.House) -> make.House:
    """Hourly, monthly from the 15th, annual in instalments, and one ended within November."""
    rental(
        house.project,
        "hourly",
        "14.80",
        start=local(2026, 11, 3, 7),
        end=local(2026, 11, 5),
        cards=2,
        quantity=2,
    )
    rental(house.project, "monthly", "7992.00", start=local(2026, 10, 15), tax=TAX)
    rental(
        house.other_project,
        "annual",
        "76723.20",
        start=local(2026, 9, 1),
        end=local(2027, 9, 1),
        vendor="CloudB",
        tax=TAX,
    )
    rental(
        house.other_project,
        "monthly",
        "3000.00",
        start=local(2026, 11, 1),
        end=local(2026, 11, 20),
        vendor="CloudB",
    )
    charge(local(2026, 12, 2))
    return house


def export(folder: Path, version: str, month: str = "2026-11") -> dict[str, list[dict[str, str]]]:
    out = io.StringIO()
    call_command(
        "export_focus", "--month", month, "--version", version, "--out", str(folder), stdout=out
    )
    assert out.getvalue().startswith("cost_and_usage.csv")
    return {
        NAMES[path.name]: list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        for path in folder.glob("*.csv")
    }


def test_the_linter_and_the_bundle_accept_1_4(charged: make.House, tmp_path: Path) -> None:
    bundle = export(tmp_path, "1.4")
    assert set(bundle) == set(NAMES.values())
    for name, rows in bundle.items():
        report = lint_focus_1_4_structure(
            name,
            rows,
            supported_conditions=["SupportsUnitPricing", "SupportsMultiplePricingCategories"],
        )
        assert report.messages() == []
    found = validate_dataset_bundle(
        bundle, invoice_detail_authoritative=True, rounding_tolerance=D(0)
    )
    assert found.ok, found.format()
    assert "reconcile_invoice_detail" in found.checks_run


@pytest.mark.parametrize("version", ["1.2", "1.4"])
def test_billed_is_what_was_charged(charged: make.House, tmp_path: Path, version: str) -> None:
    rows = export(tmp_path, version)["Cost and Usage"]
    booked = Charge.objects.filter(booked_on__month=11, booked_on__year=2026)
    total = booked.aggregate(total=Sum(F("net") + F("tax")))["total"]
    assert sum(D(row["BilledCost"]) for row in rows) == total
    assert len({row["x_ChargeKey"] for row in rows}) == len(rows)
    assert all(row["ChargePeriodStart"] < row["ChargePeriodEnd"] for row in rows)


def test_over_a_commitment_effective_equals_bought(charged: make.House, tmp_path: Path) -> None:
    """A contract that has ended conserves its price; a running one never amortises more."""
    effective: dict[str, D] = {}
    bought: dict[str, D] = {}
    for month in ("2026-09", "2026-10", "2026-11", "2026-12"):
        for row in export(tmp_path / month, "1.2", month)["Cost and Usage"]:
            key = row["CommitmentDiscountId"]
            if row["CommitmentDiscountStatus"]:
                effective[key] = effective.get(key, D(0)) + D(row["EffectiveCost"])
            if row["ChargeCategory"] == "Purchase":
                bought[key] = bought.get(key, D(0)) + D(row["BilledCost"])
    short = Rental.objects.get(plan_kind="monthly", vendor="CloudB")
    assert bought[f"R{short.pk}"] == effective[f"R{short.pk}"] == D("1900.00")
    for key, amount in effective.items():
        assert amount <= bought[key]


@pytest.mark.parametrize(
    ("options", "field"),
    [({"month": "2026-13"}, "--month"), ({"version": "1.3"}, "--version")],
)
def test_bad_options_are_named(
    house: make.House, tmp_path: Path, options: dict[str, Any], field: str
) -> None:
    err = io.StringIO()
    asked = {"month": "2026-11", "version": "1.4", **options}
    with pytest.raises(SystemExit) as stopped:
        call_command(
            "export_focus",
            "--month",
            asked["month"],
            "--version",
            asked["version"],
            "--out",
            str(tmp_path / "x"),
            stderr=err,
        )
    assert stopped.value.code == 1
    assert err.getvalue().startswith(field)
    assert not (tmp_path / "x").exists()


def test_an_empty_month_is_empty_files(house: make.House, tmp_path: Path) -> None:
    bundle = export(tmp_path, "1.4", "2020-01")
    assert {name: len(rows) for name, rows in bundle.items()} == dict.fromkeys(NAMES.values(), 0)


def test_times_are_those_of_the_local_month(charged: make.House, tmp_path: Path) -> None:
    for row in export(tmp_path, "1.2")["Cost and Usage"]:
        assert row["BillingPeriodStart"] == "2026-10-31T16:00:00Z"
        assert row["BillingPeriodEnd"] == "2026-11-30T16:00:00Z"
    assert timedelta(days=30) == local(2026, 12, 1) - local(2026, 11, 1)
