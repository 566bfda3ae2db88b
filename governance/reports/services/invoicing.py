"""Importing vendors' invoices and booking what differs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction

from governance.budgets import services as budgets
from governance.kernel.errors import Invalid, Refused
from governance.kernel.money import Money, currency_places
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks
from governance.reports.domain import invoices as rules
from governance.reports.models import Invoice, InvoiceLine
from governance.reports.queries.invoices import charged, columns_of


def import_invoice(
    *,
    actor: Actor,
    vendor: str,
    external_id: str,
    version: int = 1,
    month: date,
    currency: str,
    text: str,
    columns: Mapping[str, str] | None = None,
    now: datetime,
) -> tuple[Invoice, bool]:
    """Read a vendor's invoice and hold it to our charges; (invoice, whether it is new).

    The same (vendor, number, version) with the same content changes nothing; with other content
    it is refused (409). Without `columns` the vendor's last mapping is used.
    """
    require(actor, "invoices.manage")
    _check(vendor, external_id, month, currency)
    mapping = dict(columns or columns_of(vendor))
    lines = rules.read(text, mapping)
    content = rules.digest(text)
    with transaction.atomic():
        invoice, new = Invoice.objects.get_or_create(
            vendor=vendor,
            external_id=external_id,
            version=version,
            defaults={
                "month": month,
                "currency": currency,
                "digest": content,
                "columns": mapping,
                "imported_at": now,
                "imported_by": actor.display,
            },
        )
        if not new:
            if invoice.digest != content:
                text_ = N_("%(id)s is here already with other content; import it as a new version.")
                raise Refused(Reason("invoice_differs", text_, {"id": external_id}))
            return invoice, False
        told = {line.rental: line.description for line in lines}
        found = rules.compare(lines, charged(vendor, month, currency))
        InvoiceLine.objects.bulk_create(
            InvoiceLine(
                invoice=invoice,
                rental=one.rental[:120],
                theirs=one.theirs,
                ours=one.ours,
                state=one.state,
                description=told.get(one.rental, ""),
            )
            for one in found
        )
        audit.record(
            actor=actor,
            act="invoices.import",
            thing=invoice,
            after={"lines": len(found), "differ": sum(o.state != "matched" for o in found)},
        )
        return invoice, True


def _check(vendor: str, external_id: str, month: date, currency: str) -> None:
    if not vendor.strip():
        raise Invalid(Reason("vendor", N_("Say whose invoice it is.")), "vendor")
    if not external_id.strip():
        raise Invalid(Reason("number", N_("An invoice has a number.")), "external_id")
    if month.day != 1:
        raise Invalid(Reason("month", N_("A month is named by its first day.")), "month")
    try:
        currency_places(currency)
    except ValueError as error:
        text = N_("This is no currency code of ISO 4217, such as CNY.")
        raise Invalid(Reason("currency", text), "currency") from error


def settle(*, actor: Actor, line_id: int, reason: str, now: datetime) -> InvoiceLine:
    """Book a line's difference as an adjustment, with a reason: our cost follows the invoice."""
    require(actor, "invoices.manage")
    words = reason.strip()
    if not words:
        raise Invalid(Reason("reason_needed", N_("Please say why.")), "reason")
    with transaction.atomic():
        line = locks.lock_one(InvoiceLine.objects.select_related("invoice"), line_id)
        if not line.is_open:
            raise Refused(Reason("line_settled", N_("This line has nothing left to book.")))
        invoice = line.invoice
        amount = Decimal(line.difference)
        places = currency_places(invoice.currency)
        money = Money(amount, invoice.currency).rounded(places)
        cost = budgets.AccountRef("expense:adjustments", "expense", "Adjustments")
        owed = budgets.AccountRef(f"payable:{invoice.vendor}"[:80], "liability", invoice.vendor)
        budgets.post_transaction(
            actor=actor,
            draft=budgets.Draft(
                key=f"invoice-line:{line.pk}",
                booked_on=now.date(),
                memo=f"{invoice} {line.rental}: {words}"[:300],
                lines=((cost, money), (owed, -money)),
            ),
            now=now,
        )
        line.settled_at, line.settled_by, line.reason = now, actor.display, words
        line.save(update_fields=["settled_at", "settled_by", "reason"])
        audit.record(
            actor=actor,
            act="invoices.settle",
            thing=line,
            after={"amount": str(money)},
            reason=words,
        )
        return line
