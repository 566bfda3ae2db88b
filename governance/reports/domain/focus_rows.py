"""The rows of a rental in a month, by kind of charge; see `focus` for the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from governance.kernel.money import round_exact
from governance.kernel.periods import Period, calendar_start, cut, seconds
from governance.reports.domain.focus import (
    EMPTY,
    TAX_12,
    UNITS,
    Charge,
    Contract,
    DayUse,
    Row,
    instant,
    number,
    quantity_text,
)

PLACES = 8
"""Amortised parts add up at this decimal place."""

UNKNOWN_USE = DayUse()


def base(contract: Contract) -> Row:
    """The columns that all rows of a contract share."""
    return {
        **EMPTY,
        "BillingAccountId": contract.account.id,
        "BillingAccountName": contract.account.name,
        "BillingAccountType": "Organization",
        "BillingCurrency": contract.currency,
        "PricingCurrency": contract.currency,
        "SubAccountId": contract.project_id,
        "SubAccountName": contract.project_name,
        "SubAccountType": "Project",
        "InvoiceIssuerName": contract.vendor,
        "ProviderName": contract.vendor,
        "PublisherName": contract.vendor,
        "ServiceProviderName": contract.vendor,
        "HostProviderName": contract.host or contract.vendor,
        "ServiceCategory": "Compute",
        "ServiceSubcategory": "Virtual Machines",
        "ServiceName": contract.service,
        "RegionId": contract.region_id,
        "RegionName": contract.region_name,
        "Tags": _json(contract.tags),
        "x_GpuModel": contract.card_model,
        "x_GpuCount": number(Decimal(contract.cards)),
        "x_MemBandwidthGBs": "" if contract.nominal_gb_s is None else number(contract.nominal_gb_s),
    }


def _json(values: Mapping[str, object]) -> str:
    return json.dumps(dict(values), ensure_ascii=False, separators=(",", ":")) if values else ""


def month_rows(
    contract: Contract,
    charges: Sequence[Charge],
    month: Period,
    tz: tzinfo,
    use: Mapping[datetime, DayUse] | None = None,
) -> Iterator[Row]:
    """The rows of one rental in one billing month. `charges`: all of the rental that are billed
    in the month or whose prepaid period reaches into it. `use`: by start of the local day."""
    for row in _rows(contract, charges, month, tz, use or {}):
        row["PricingCurrencyListUnitPrice"] = row["ListUnitPrice"]
        row["PricingCurrencyContractedUnitPrice"] = row["ContractedUnitPrice"]
        row["PricingCurrencyEffectiveCost"] = row["EffectiveCost"]
        yield row


def _rows(
    contract: Contract,
    charges: Sequence[Charge],
    month: Period,
    tz: tzinfo,
    use: Mapping[datetime, DayUse],
) -> Iterator[Row]:
    common = base(contract)
    effective = Decimal(0)
    for charge in charges:
        if charge.kind == "tax" or charge.billing != month:
            continue
        row = _billed(contract, common, charge)
        effective += Decimal(row["EffectiveCost"])
        yield row
    if contract.prepaid:
        for row in _amortised(contract, common, charges, month, tz, use):
            effective += Decimal(row["EffectiveCost"])
            yield row
    for charge in charges:
        if charge.kind == "tax" and charge.billing == month:
            yield _tax(contract, common, charge, effective)


def _dated(common: Row, charge: Charge) -> Row:
    return {
        **common,
        "BilledCost": number(charge.amount),
        "BillingPeriodStart": instant(charge.billing.start),
        "BillingPeriodEnd": instant(charge.billing.end),
        "ChargePeriodStart": instant(charge.period.start),
        "ChargePeriodEnd": instant(charge.period.end),
        "ChargeDescription": charge.description or charge.kind,
        "InvoiceId": charge.invoice_id,
        "InvoiceDetailId": charge.invoice_detail_id,
        "x_ChargeKey": charge.key,
    }


def _billed(contract: Contract, common: Row, charge: Charge) -> Row:
    row = _dated(common, charge)
    amount = number(charge.amount)
    if charge.kind in ("voucher", "adjustment"):
        return row | {
            "ChargeCategory": "Credit" if charge.kind == "voucher" else "Adjustment",
            "ChargeFrequency": "One-Time",
            "EffectiveCost": amount,
            "ListCost": amount,
            "ContractedCost": amount,
        }
    row |= _sku(contract)
    if charge.kind == "refund_closed":
        row |= {
            "ChargeCategory": "Purchase" if contract.prepaid else "Usage",
            "ChargeClass": "Correction",
            "ChargeFrequency": "One-Time",
            "EffectiveCost": "0.0" if contract.prepaid else amount,
            "ListCost": amount,
            "ContractedCost": amount,
            "ListUnitPrice": number(abs(charge.amount)),
            "ContractedUnitPrice": number(abs(charge.amount)),
            "PricingCategory": "Standard",
        }
        row |= {"PricingQuantity": "1.0" if charge.amount >= 0 else "-1.0", "PricingUnit": "Units"}
        if not contract.prepaid:
            return row
        commitment = _commitment(contract, charge.period)
        return row | commitment | {"CommitmentDiscountQuantity": "", "CommitmentDiscountUnit": ""}
    row |= _priced(contract, charge)
    if not contract.prepaid:
        return row | {
            "ChargeCategory": "Usage",
            "ChargeFrequency": "Usage-Based",
            "EffectiveCost": amount,
            "PricingCategory": "Dynamic" if contract.spot else "Standard",
            "ConsumedQuantity": row["PricingQuantity"],
            "ConsumedUnit": row["PricingUnit"],
        }
    return row | {
        "ChargeCategory": "Purchase",
        "ChargeFrequency": "One-Time" if contract.plan == "annual" else "Recurring",
        "EffectiveCost": "0.0",
        "PricingCategory": "Standard",
        "ResourceId": contract.id,
        "ResourceName": "",
        **_commitment(contract, charge.period, sign=-1 if charge.amount < 0 else 1),
    }


@lru_cache(maxsize=1024)
def price_details(cards: int, model: str) -> str:
    """What a price is for."""
    return _json({"GpuCount": cards, "x_GpuModel": model})


def _sku(contract: Contract) -> Row:
    return {
        "SkuId": contract.sku_id,
        "SkuPriceId": contract.sku_price_id,
        "SkuMeter": "GPU rental",
        "SkuPriceDetails": price_details(contract.cards, contract.card_model),
        "ResourceId": contract.resource_id,
        "ResourceName": contract.resource_name,
        "ResourceType": "GPU instance",
    }


def _priced(contract: Contract, charge: Charge) -> Row:
    """Price times quantity; a charge without them is one unit at its amount."""
    if charge.quantity is None or charge.unit_price is None or not charge.unit:
        sign = Decimal(-1 if charge.amount < 0 else 1)
        quantity, price, unit = sign, abs(charge.amount), "Units"
    else:
        quantity, price = quantity_text(charge.quantity), charge.unit_price
        unit = UNITS.get(charge.unit, charge.unit)
        if charge.amount < 0 < quantity:
            quantity = -quantity
    listed = price
    if contract.list_hourly is not None and not contract.prepaid and unit == "Hours":
        listed = contract.list_hourly
    return {
        "ListUnitPrice": number(listed),
        "ContractedUnitPrice": number(price),
        "PricingQuantity": number(quantity),
        "PricingUnit": unit,
        "ListCost": number(listed * quantity),
        "ContractedCost": number(price * quantity),
    }


def _commitment(contract: Contract, period: Period, *, sign: int = 1) -> Row:
    hours = quantity_text(period.hours * contract.quantity) * sign
    return {
        "CommitmentDiscountCategory": "Usage",
        "CommitmentDiscountId": contract.id,
        "CommitmentDiscountName": f"{contract.service} {contract.id}",
        "CommitmentDiscountType": f"{contract.plan.capitalize()} Subscription",
        "CommitmentDiscountQuantity": number(hours),
        "CommitmentDiscountUnit": "Hours",
    }


def _tax(contract: Contract, common: Row, charge: Charge, effective: Decimal) -> Row:
    amount = number(charge.amount)
    on_effective = amount
    if charge.tax_rate is not None and contract.prepaid:
        on_effective = number(round_exact(effective * charge.tax_rate, PLACES))
    return _dated(common, charge) | {
        "ChargeCategory": "Tax",
        "ChargeFrequency": "Recurring" if contract.prepaid else "One-Time",
        "EffectiveCost": amount,
        "ListCost": amount,
        "ContractedCost": amount,
        TAX_12: on_effective,
    }


@dataclass(frozen=True, slots=True)
class Part:
    """The share of a prepaid line that a piece of a local day carries."""

    period: Period
    amount: Decimal
    seconds: int


@lru_cache(maxsize=8192)
def days_of(period: Period, tz: tzinfo) -> tuple[tuple[Period, datetime, int], ...]:
    """The period's local days: the piece within it, the day's own start, the piece's seconds."""
    return tuple(
        (piece, calendar_start(piece.start, "day", tz), int(seconds(piece.elapsed)))
        for piece in cut(period, "day", tz)
    )


def spread(amount: Decimal, weights: Sequence[int]) -> list[Decimal]:
    """The amount by whole-number weights at the eighth place: cut towards zero, what is missing
    goes to the largest remainders, ties to the first. The parts add up to the amount."""
    whole, sign = sum(weights), -1 if amount < 0 else 1
    units = int(abs(amount).scaleb(PLACES))
    parts, rests = zip(*(divmod(units * weight, whole) for weight in weights), strict=True)
    missing = units - sum(parts)
    more = set(sorted(range(len(parts)), key=lambda i: (-rests[i], i))[:missing])
    return [Decimal(sign * (part + (i in more))).scaleb(-PLACES) for i, part in enumerate(parts)]


def amortise(charges: Iterable[Charge], tz: tzinfo, ends_at: datetime | None) -> list[Part]:
    """Every prepaid line spread over the local days of its own period by elapsed time, largest
    remainder at the eighth place, credits likewise; days are summed. What still lies after the
    rental's end is written off on its last day, so that nothing is lost."""
    days: dict[datetime, Part] = {}
    rest = Decimal(0)
    for charge in charges:
        if charge.kind not in ("charge", "credit"):
            continue
        pieces = days_of(charge.period, tz)
        amounts = spread(charge.amount, [length for _, _, length in pieces])
        for (piece, day, length), amount in zip(pieces, amounts, strict=True):
            if ends_at is not None and piece.start >= ends_at:
                rest += amount
                continue
            known = days.get(day)
            if known is None:
                days[day] = Part(piece, amount, length)
            else:
                longer = known if known.seconds >= length else Part(piece, amount, length)
                days[day] = Part(longer.period, known.amount + amount, longer.seconds)
    order = sorted(days)
    if order and rest:
        last = days[order[-1]]
        days[order[-1]] = Part(last.period, last.amount + rest, last.seconds)
    return [days[day] for day in order]


@lru_cache(maxsize=8192)
def unit_hours(length: int, quantity: int) -> Decimal:
    """So many seconds of so many units in hours."""
    return quantity_text(Fraction(length * quantity, 3600))


@lru_cache(maxsize=8192)
def applied(contract: str, hours: Decimal) -> str:
    """The commitment that a covered row draws on."""
    element = {
        "ContractId": contract,
        "ContractCommitmentId": contract,
        "ContractCommitmentAppliedQuantity": float(hours),
        "ContractCommitmentAppliedUnit": "Hours",
    }
    return _json({"Elements": [element]})


def _amortised(
    contract: Contract,
    common: Row,
    charges: Sequence[Charge],
    month: Period,
    tz: tzinfo,
    use: Mapping[datetime, DayUse],
) -> Iterator[Row]:
    shared = {
        **common,
        **_sku(contract),
        "BilledCost": "0.0",
        "BillingPeriodStart": instant(month.start),
        "BillingPeriodEnd": instant(month.end),
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "PricingCategory": "Committed",
        "PricingUnit": "Hours",
        "CommitmentDiscountCategory": "Usage",
        "CommitmentDiscountId": contract.id,
        "CommitmentDiscountName": f"{contract.service} {contract.id}",
        "CommitmentDiscountType": f"{contract.plan.capitalize()} Subscription",
        "CommitmentDiscountUnit": "Hours",
        "ChargeDescription": "Amortised subscription",
    }
    for part in amortise(charges, tz, contract.ends_at):
        if part.period.start not in month:
            continue
        hours = unit_hours(part.seconds, contract.quantity)
        day = use.get(part.period.start, UNKNOWN_USE)
        unused = min(hours, day.unused_hours)
        wasted = Decimal(0)
        if unused:
            wasted = round_exact(Fraction(part.amount) * Fraction(unused) / Fraction(hours), PLACES)
        dated = shared | {
            "ChargePeriodStart": instant(part.period.start),
            "ChargePeriodEnd": instant(part.period.end),
        }
        if unused < hours:
            yield _covered(contract, dated, hours - unused, part.amount - wasted, day, "Used")
        if unused > 0:
            yield _covered(contract, dated, unused, wasted, day, "Unused")


def _covered(
    contract: Contract, dated: Row, hours: Decimal, cost: Decimal, day: DayUse, status: str
) -> Row:
    listed = contract.list_hourly
    if listed is None:
        listed = round_exact(Fraction(cost) / Fraction(hours), PLACES)
    total = number(listed * hours)
    quantity, used = number(hours), status == "Used"
    share = day.bandwidth_share
    return dated | {
        "EffectiveCost": number(cost),
        "ListUnitPrice": number(listed),
        "ContractedUnitPrice": number(listed),
        "ListCost": total,
        "ContractedCost": total,
        "PricingQuantity": quantity,
        "CommitmentDiscountQuantity": quantity,
        "CommitmentDiscountStatus": status,
        "ConsumedQuantity": quantity if used else "",
        "ConsumedUnit": "Hours" if used else "",
        "ResourceId": contract.resource_id if used else contract.id,
        "ResourceName": contract.resource_name if used else "",
        "ContractApplied": applied(contract.id, hours),
        "x_ChargeKey": f"{contract.id}:{dated['ChargePeriodStart']}:{status}",
        "x_BandwidthUtil": number(share) if share is not None and used else "",
    }
