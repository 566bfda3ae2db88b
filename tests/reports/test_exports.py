"""Files for finance: the right people only, the same amounts, accepted by others' programs."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import zipfile
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pytest

from governance.budgets.models import Posting
from tests import make
from tests.rentals.make import charge, local, rental

pytestmark = pytest.mark.django_db

FILES = ("statement.pdf", "focus-1.2.zip", "focus-1.4.zip", "journal.csv", "ledger.beancount")


@pytest.fixture
def november(house: make.House) -> make.House:
    rental(house.project, "hourly", "14.80", start=local(2026, 11, 3), end=local(2026, 11, 5))
    rental(house.other_project, "monthly", "7992.00", start=local(2026, 11, 1), vendor="云 B")
    charge(local(2026, 11, 20))
    return house


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.parametrize("name", FILES)
def test_finance_and_auditors_only(november: make.House, browser_of: Any, name: str) -> None:
    address = f"/reports/exports/2026-11/{name}"
    assert browser_of(november.finance).get(address).status_code == 200
    assert browser_of(november.auditor).get(address).status_code == 200
    for person in (november.member, november.lead, november.approver, november.operator):
        assert browser_of(person).get(address).status_code == 403


def test_a_wrong_month_is_named(november: make.House, browser_of: Any) -> None:
    answer = browser_of(november.finance).get("/reports/exports/2026-13/journal.csv")
    assert answer.status_code == 400


def test_the_page_lists_the_months(november: make.House, browser_of: Any) -> None:
    assert b"statement.pdf" in browser_of(november.finance).get("/reports/exports/").content
    assert b"statement.pdf" not in browser_of(november.member).get("/reports/exports/").content


def test_the_journal_holds_every_posting_and_balances(
    november: make.House, browser_of: Any
) -> None:
    text = body(browser_of(november.finance).get("/reports/exports/2026-11/journal.csv")).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == Posting.objects.count() > 0
    debit = sum(D(row["debit"] or 0) for row in rows)
    assert debit == sum(D(row["credit"] or 0) for row in rows) > 0


def test_the_archive_has_the_four_files(november: make.House, browser_of: Any) -> None:
    answer = browser_of(november.finance).get("/reports/exports/2026-11/focus-1.4.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert sorted(archive.namelist()) == [
            "billing_period.csv",
            "contract_commitment.csv",
            "cost_and_usage.csv",
            "invoice_detail.csv",
        ]


def test_the_statement_embeds_its_font(november: make.House, browser_of: Any) -> None:
    browser = browser_of(november.finance)
    browser.cookies["django_language"] = "zh-hans"
    pdf = browser.get("/reports/exports/2026-11/statement.pdf").content
    assert pdf.startswith(b"%PDF-")
    assert b"/FontFile2" in pdf


@pytest.mark.proof
def test_bean_check_accepts_the_ledger(
    november: make.House, browser_of: Any, tmp_path: Path
) -> None:
    file = tmp_path / "ledger.beancount"
    answer = browser_of(november.finance).get("/reports/exports/2026-11/ledger.beancount")
    file.write_bytes(body(answer))
    assert "Expenses:" in file.read_text(encoding="utf-8")
    program = Path(sys.executable).with_name("bean-check")
    good = subprocess.run([program, file], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout + good.stderr) == (0, "")
    broken = file.read_text(encoding="utf-8").replace(" CNY", "9 CNY", 1)
    file.write_text(broken, encoding="utf-8")
    assert subprocess.run([program, file], capture_output=True, check=False).returncode
