"""Invoices: imported once, held to the charges line by line, differences booked with a reason."""

from __future__ import annotations

from datetime import date
from decimal import Decimal as D
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from governance.budgets.models import Posting
from governance.kernel.errors import Denied, Invalid, Refused
from governance.reports import services
from governance.reports.models import Invoice, InvoiceLine
from tests import make
from tests.rentals.make import charge, local, rental

pytestmark = pytest.mark.django_db
NOW = local(2026, 12, 2)


@pytest.fixture
def november(house: make.House) -> dict[str, Any]:
    """Two rentals of CloudA: 355.20 for a day, and a monthly fee of 7,992.00."""
    made = {
        "day": rental(
            house.project,
            start=local(2026, 11, 3),
            end=local(2026, 11, 4),
            price="14.80",
            external_id="i-1",
        ),
        "month": rental(
            house.project, "monthly", "7992.00", start=local(2026, 11, 1), end=local(2026, 12, 1)
        ),
    }
    charge(local(2026, 12, 1))
    return made


def csv_of(rows: list[tuple[str, str]], head: str = "rental,amount") -> str:
    return head + "\n" + "".join(f"{name},{amount}\n" for name, amount in rows)


def bring(actor: Any, text: str, **options: Any) -> tuple[Invoice, bool]:
    asked = {
        "vendor": "CloudA",
        "external_id": "INV-1",
        "month": date(2026, 11, 1),
        "currency": "CNY",
        "now": NOW,
        **options,
    }
    return services.import_invoice(actor=actor, text=text, **asked)


def test_line_by_line(november: dict[str, Any], house: make.House) -> None:
    text = csv_of([("i-1", "355.20"), ("i-9", "12.00")])
    invoice, new = bring(house.finance, text)
    assert new
    states = dict(invoice.lines.values_list("rental", "state"))
    month = f"R{november['month'].pk}"
    assert states == {"i-1": "matched", "i-9": "missing_here", month: "missing_there"}
    differs, _ = bring(house.finance, csv_of([("i-1", "355.19")]), external_id="INV-2")
    assert differs.lines.get(rental="i-1").state == "differs"


def test_the_same_invoice_twice_is_once_and_other_content_is_refused(
    november: dict[str, Any], house: make.House
) -> None:
    text = csv_of([("i-1", "355.20")])
    first, _ = bring(house.finance, text)
    again, new = bring(house.finance, text)
    assert (again.pk, new) == (first.pk, False)
    with pytest.raises(Refused):
        bring(house.finance, csv_of([("i-1", "1.00")]))
    second, new = bring(house.finance, csv_of([("i-1", "1.00")]), version=2)
    assert new
    assert second.pk != first.pk


def test_the_vendors_columns_are_remembered(november: dict[str, Any], house: make.House) -> None:
    names = {"rental": "instance", "amount": "net"}
    bring(house.finance, csv_of([("i-1", "355.20")], "instance,net"), columns=names)
    later, _ = bring(house.finance, csv_of([("i-1", "1")], "instance,net"), external_id="INV-2")
    assert later.columns == names


def test_a_difference_is_booked_once_with_a_reason(
    november: dict[str, Any], house: make.House
) -> None:
    invoice, _ = bring(house.finance, csv_of([("i-1", "360.00")]))
    line = invoice.lines.get(rental="i-1")
    with pytest.raises(Invalid):
        services.settle(actor=house.finance, line_id=line.pk, reason=" ", now=NOW)
    services.settle(actor=house.finance, line_id=line.pk, reason="rounding", now=NOW)
    booked = Posting.objects.get(transaction__key=f"invoice-line:{line.pk}", amount__gt=0)
    assert booked.amount == D("4.80")
    with pytest.raises(Refused):
        services.settle(actor=house.finance, line_id=line.pk, reason="again", now=NOW)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("rental,amount\n", "file"),
        ("rental,price\ni-1,3\n", "columns"),
        ("rental,amount\ni-1,x\n", "file"),
        ("rental,amount\n,3\n", "file"),
        ("rental,amount\ni-1,NaN\n", "file"),
    ],
)
def test_a_bad_file_brings_nothing(house: make.House, text: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        bring(house.finance, text)
    assert refused.value.field == field
    assert not Invoice.objects.exists()


def test_finance_only(november: dict[str, Any], house: make.House, browser_of: Any) -> None:
    with pytest.raises(Denied):
        bring(house.approver, csv_of([("i-1", "1")]))
    assert browser_of(house.lead).get("/reports/invoices/").status_code == 403


def test_imported_and_closed_in_the_browser(
    november: dict[str, Any], house: make.House, browser_of: Any
) -> None:
    browser = browser_of(house.finance)
    file = SimpleUploadedFile("i.csv", csv_of([("i-1", "350.00")]).encode())
    asked = {
        "vendor": "CloudA",
        "external_id": "INV-7",
        "version": "1",
        "month": "2026-11",
        "currency": "CNY",
        "file": file,
    }
    answer = browser.post("/reports/invoices/", asked)
    assert answer.status_code == 302
    assert browser.get(answer["Location"]).status_code == 200
    for line in InvoiceLine.objects.exclude(state="matched"):
        address = f"{answer['Location']}lines/{line.pk}/"
        assert browser.post(address, {"reason": "agreed with the vendor"}).status_code == 302
    assert not [line for line in InvoiceLine.objects.all() if line.is_open]
    assert browser.get("/reports/invoices/").status_code == 200
    wrong = {**asked, "file": SimpleUploadedFile("i.csv", b"x")}
    assert browser.post("/reports/invoices/", wrong).status_code == 400
