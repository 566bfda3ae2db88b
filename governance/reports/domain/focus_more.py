"""The three smaller FOCUS 1.4 datasets: contract commitments, billing periods, invoice details."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from governance.kernel.periods import Period
from governance.reports.domain.focus import Contract, Dataset, instant, number, quantity_text

COMMITMENT = (
    "BillingCurrency",
    "ContractCommitmentApplicability",
    "ContractCommitmentBenefitCategory",
    "ContractCommitmentCategory",
    "ContractCommitmentCost",
    "ContractCommitmentCreated",
    "ContractCommitmentDescription",
    "ContractCommitmentDiscountPercentage",
    "ContractCommitmentDurationType",
    "ContractCommitmentFulfillmentInterval",
    "ContractCommitmentId",
    "ContractCommitmentLastUpdated",
    "ContractCommitmentLifecycleStatus",
    "ContractCommitmentModel",
    "ContractCommitmentOfferCategory",
    "ContractCommitmentPaymentInterval",
    "ContractCommitmentPaymentModel",
    "ContractCommitmentPeriodEnd",
    "ContractCommitmentPeriodStart",
    "ContractCommitmentQuantity",
    "ContractCommitmentType",
    "ContractCommitmentUnit",
    "ContractId",
    "ContractPeriodEnd",
    "ContractPeriodStart",
    "InvoiceIssuerName",
    "ServiceProviderName",
)
BILLING_PERIOD = (
    "BillingPeriodCreated",
    "BillingPeriodEnd",
    "BillingPeriodLastUpdated",
    "BillingPeriodStart",
    "BillingPeriodStatus",
    "InvoiceIssuerName",
)
INVOICE_DETAIL = (
    "BilledCost",
    "BillingAccountId",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "InvoiceDetailCreated",
    "InvoiceDetailDescription",
    "InvoiceDetailGrain",
    "InvoiceDetailId",
    "InvoiceDetailLastUpdated",
    "InvoiceId",
    "InvoiceIssueDate",
    "InvoiceIssueStatus",
    "InvoiceIssuerName",
    "PaymentDueDate",
    "PaymentTerms",
    "ReferenceInvoiceId",
)
_DURATION = {"daily": "Day", "monthly": "Month", "quarterly": "Quarter", "annual": "Year"}
_INTERVAL = {"monthly": "Monthly", "quarterly": "Quarterly", "annual": "Annual"}


@dataclass(frozen=True, slots=True)
class Term:
    """A prepaid rental's whole term: what it costs and where it stands now."""

    contract: Contract
    period: Period
    periods: int
    cost: Decimal
    created: datetime
    updated: datetime
    ended_early: bool = False
    discount: Decimal | None = None
    negotiated: bool = True


@dataclass(frozen=True, slots=True)
class Issued:
    """A vendor's billing month: open or closed."""

    vendor: str
    period: Period
    closed: bool
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """A line of a vendor's invoice as it was imported."""

    id: str
    invoice_id: str
    vendor: str
    account_id: str
    currency: str
    category: str
    amount: Decimal
    billing: Period
    description: str
    created: datetime
    updated: datetime
    issued_at: datetime | None = None
    due_at: datetime | None = None
    voided: bool = False
    terms: str = "Net 30"


def commitments(terms: Iterable[Term], now: datetime) -> Dataset:
    """Contract Commitment: one row per prepaid rental."""
    return Dataset("contract_commitment.csv", COMMITMENT, [_commitment(t, now) for t in terms])


def _commitment(term: Term, now: datetime) -> dict[str, str]:
    contract, annual = term.contract, term.contract.plan == "annual"
    unit = _DURATION.get(contract.plan, "Month")
    scope = {
        "Inclusions": [
            {"Dimension": "ResourceId", "Operator": "In", "Values": [contract.resource_id]}
        ],
        "InclusionOperator": "And",
    }
    return {
        "BillingCurrency": contract.currency,
        "ContractCommitmentApplicability": json.dumps(scope, separators=(",", ":")),
        "ContractCommitmentBenefitCategory": "Discount",
        "ContractCommitmentCategory": "Usage",
        "ContractCommitmentCost": number(term.cost),
        "ContractCommitmentCreated": instant(term.created),
        "ContractCommitmentDescription": f"{contract.cards} x {contract.card_model}",
        "ContractCommitmentDiscountPercentage": (
            "" if term.discount is None else number(term.discount)
        ),
        "ContractCommitmentDurationType": f"{term.periods} {unit}{'s' * (term.periods != 1)}",
        "ContractCommitmentFulfillmentInterval": "Hourly",
        "ContractCommitmentId": contract.id,
        "ContractCommitmentLastUpdated": instant(term.updated),
        "ContractCommitmentLifecycleStatus": _status(term, now),
        "ContractCommitmentModel": "Continuous",
        "ContractCommitmentOfferCategory": "Negotiated" if term.negotiated else "Public",
        "ContractCommitmentPaymentInterval": (
            "One-Time" if annual else _INTERVAL.get(contract.plan, "Custom")
        ),
        "ContractCommitmentPaymentModel": "All Upfront" if annual else "No Upfront",
        "ContractCommitmentPeriodEnd": instant(term.period.end),
        "ContractCommitmentPeriodStart": instant(term.period.start),
        "ContractCommitmentQuantity": number(quantity_text(term.period.hours * contract.quantity)),
        "ContractCommitmentType": f"{contract.plan.capitalize()} Subscription",
        "ContractCommitmentUnit": "Hours",
        "ContractId": contract.id,
        "ContractPeriodEnd": instant(term.period.end),
        "ContractPeriodStart": instant(term.period.start),
        "InvoiceIssuerName": contract.vendor,
        "ServiceProviderName": contract.vendor,
    }


def _status(term: Term, now: datetime) -> str:
    if term.ended_early:
        return "Canceled"
    if now < term.period.start:
        return "Pending"
    return "Active" if now < term.period.end else "Expired"


def billing_periods(issued: Iterable[Issued]) -> Dataset:
    """Billing Period: one row per vendor of the month."""
    rows = [
        {
            "BillingPeriodCreated": instant(one.created),
            "BillingPeriodEnd": instant(one.period.end),
            "BillingPeriodLastUpdated": instant(one.updated),
            "BillingPeriodStart": instant(one.period.start),
            "BillingPeriodStatus": "Closed" if one.closed else "Open",
            "InvoiceIssuerName": one.vendor,
        }
        for one in issued
    ]
    return Dataset("billing_period.csv", BILLING_PERIOD, rows)


def invoice_details(lines: Iterable[InvoiceLine]) -> Dataset:
    """Invoice Detail: the imported lines."""
    return Dataset("invoice_detail.csv", INVOICE_DETAIL, [_detail(line) for line in lines])


def _detail(line: InvoiceLine) -> dict[str, str]:
    status = "Voided" if line.voided else ("Issued" if line.issued_at else "Open")
    return {
        "BilledCost": number(line.amount),
        "BillingAccountId": line.account_id,
        "BillingCurrency": line.currency,
        "BillingPeriodEnd": instant(line.billing.end),
        "BillingPeriodStart": instant(line.billing.start),
        "ChargeCategory": line.category,
        "InvoiceDetailCreated": instant(line.created),
        "InvoiceDetailDescription": line.description,
        "InvoiceDetailGrain": "",
        "InvoiceDetailId": line.id,
        "InvoiceDetailLastUpdated": instant(line.updated),
        "InvoiceId": line.invoice_id,
        "InvoiceIssueDate": instant(line.issued_at) if line.issued_at else "",
        "InvoiceIssueStatus": status,
        "InvoiceIssuerName": line.vendor,
        "PaymentDueDate": instant(line.due_at) if line.due_at else "",
        "PaymentTerms": line.terms,
        "ReferenceInvoiceId": line.invoice_id,
    }
