"""A month of a small organisation: every kind of charge once."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal as D
from fractions import Fraction
from zoneinfo import ZoneInfo

from governance.kernel.periods import Period, anchored
from governance.reports.domain import focus, focus_more, focus_rows
from governance.reports.domain.focus import Account, Charge, Contract, DayUse

SHANGHAI = ZoneInfo("Asia/Shanghai")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=SHANGHAI)


def month(text: str) -> Period:
    start = at(f"{text}-01")
    return Period(start, anchored(start, "month", 1, SHANGHAI))


NOVEMBER = month("2026-11")
HOURLY = Contract(
    id="R-1",
    account=Account("org-1", "Example AI"),
    currency="CNY",
    project_id="speech",
    project_name="Speech",
    tags={"team": "speech", "cost_centre": "CC1", "owner": "alice"},
    vendor="Vendor A",
    region_id="cn-east",
    region_name="East",
    service="GPU rental",
    card_model="A800 80G",
    cards=1,
    plan="hourly",
    quantity=1,
    sku_id="offer-1",
    sku_price_id="price-1",
    resource_id="rental-1",
    resource_name="R-1",
    list_hourly=D("14.80"),
    nominal_gb_s=D("2039"),
)
MONTHLY = replace(HOURLY, id="R-2", plan="monthly", resource_id="rental-2", sku_price_id="price-2")
ANNUAL = replace(
    HOURLY,
    id="R-3",
    plan="annual",
    resource_id="rental-3",
    sku_price_id="price-3",
    list_hourly=D(30),
)


def hourly_charges() -> list[Charge]:
    day = Period(at("2026-11-03"), at("2026-11-04"))
    return [
        Charge("c1", "charge", day, D("355.20"), NOVEMBER, Fraction(24), "hour", D("14.80"), "day"),
        Charge("c2", "voucher", day, D("-10.00"), NOVEMBER, description="SLA"),
        Charge("c3", "adjustment", day, D("0.01"), NOVEMBER, description="rounding"),
        Charge("c4", "tax", day, D("21.31"), NOVEMBER, tax_rate=D("0.06")),
    ]


def monthly_charges() -> list[Charge]:
    """15 Oct to 15 Nov and 15 Nov to 15 Dec, a refund of an invoiced month beside."""
    october = month("2026-10")
    first = Period(at("2026-10-15"), at("2026-11-15"))
    second = Period(at("2026-11-15"), at("2026-12-15"))
    price = D("7992.00")
    return [
        Charge("m1", "charge", first, price, october, Fraction(1), "month", price, "Oct"),
        Charge("m2", "charge", second, price, NOVEMBER, Fraction(1), "month", price, "Nov"),
        Charge("m3", "tax", second, D("479.52"), NOVEMBER, tax_rate=D("0.06")),
    ]


def annual_charges() -> list[Charge]:
    term = Period(at("2026-09-01"), at("2027-09-01"))
    price = D("175200.00")
    return [
        Charge("a1", "charge", term, price, month("2026-09"), Fraction(1), "year", price, "year"),
        Charge(
            "a2",
            "refund_closed",
            Period(at("2026-10-01"), at("2026-10-02")),
            D("-100.00"),
            NOVEMBER,
            description="outage",
        ),
    ]


USE = {
    at("2026-11-20").astimezone(UTC): DayUse(D(24), None),
    at("2026-11-21").astimezone(UTC): DayUse(D("6.5"), D("0.42")),
}


def november() -> list[focus.Row]:
    rows = [
        *focus_rows.month_rows(HOURLY, hourly_charges(), NOVEMBER, SHANGHAI),
        *focus_rows.month_rows(MONTHLY, monthly_charges(), NOVEMBER, SHANGHAI, USE),
        *focus_rows.month_rows(ANNUAL, annual_charges(), NOVEMBER, SHANGHAI, USE),
    ]
    for row in rows:
        row["InvoiceId"] = "provisional:vendor-a:2026-11"
    return rows


def text(rows: list[focus.Row], version: focus.Version) -> str:
    out = io.StringIO()
    focus.write(rows, version, out)
    return out.getvalue()


def smaller() -> list[focus.Dataset]:
    now = at("2026-11-30")
    term = Period(at("2026-10-15"), at("2026-12-15"))
    year = Period(at("2026-09-01"), at("2027-09-01"))
    created = at("2026-08-20")
    lines = [
        focus_more.InvoiceLine(
            id="inv-1:1",
            invoice_id="inv-1",
            vendor="Vendor A",
            account_id="org-1",
            currency="CNY",
            category="Usage",
            amount=D("355.20"),
            billing=NOVEMBER,
            description="A800 hourly",
            created=created,
            updated=now,
            issued_at=now,
            due_at=at("2026-12-30"),
        )
    ]
    return [
        focus_more.commitments(
            [
                focus_more.Term(MONTHLY, term, 2, D("15984.00"), created, now),
                focus_more.Term(ANNUAL, year, 1, D("175200.00"), created, now, discount=D("0.15")),
            ],
            now,
        ),
        focus_more.billing_periods([focus_more.Issued("Vendor A", NOVEMBER, False, created, now)]),
        focus_more.invoice_details(lines),
    ]
