"""Invoices and what our charges say of the same month."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from django.db.models import Count, F, Q, QuerySet

from governance.kernel.errors import Missing
from governance.kernel.periods import add_months
from governance.kernel.policy import Actor, require
from governance.rentals import queries as rentals
from governance.reports.models import Invoice
from governance.reports.viewers import EVERYTHING


def invoices(viewer: Actor) -> QuerySet[Invoice]:
    """All invoices with how many lines are open; for those who manage them."""
    require(viewer, "invoices.manage")
    still = Q(lines__settled_at=None) & ~Q(lines__state="matched")
    return Invoice.objects.annotate(
        line_count=Count("lines"), open_count=Count("lines", filter=still)
    )


def invoice_for(viewer: Actor, pk: int) -> Invoice:
    """One invoice with its lines, or Missing (404)."""
    found = invoices(viewer).prefetch_related("lines").filter(pk=pk).first()
    if found is None:
        raise Missing()
    return found


def columns_of(vendor: str) -> dict[str, str]:
    """The column mapping that the vendor's last invoice was read with."""
    last = Invoice.objects.filter(vendor=vendor).order_by("-imported_at").first()
    return dict(last.columns) if last else {}


def charged(vendor: str, month: date, currency: str) -> dict[str, Decimal]:
    """What was billed of the vendor's rentals in the month, net, by the vendor's number of the
    rental (ours, R..., where it has none)."""
    last = add_months(month, 1) - timedelta(days=1)
    rows = rentals.cost_rows(
        EVERYTHING,
        first=month,
        last=last,
        group_by=("rental",),
        filters={"rental__vendor": vendor, "currency": currency},
    )
    ids = [int(row.group[0]) for row in rows]
    names = dict(
        rentals.rentals_visible_to(EVERYTHING)
        .filter(pk__in=ids)
        .values_list("pk", F("external_id"))
    )
    return {
        names.get(int(row.group[0])) or f"R{row.group[0]}": row.billed for row in rows if row.billed
    }
