"""What public price sheets get wrong: slips of unit, period and currency, doubled rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import median

from governance.catalog.domain.packaged import card_for_name
from governance.kernel.money import currency_places
from governance.kernel.reasons import N_, Reason

from .row import Sheet, SheetFault, SheetRow

HOURS = {
    "hourly": 1,
    "spot": 1,
    "daily": 24,
    "monthly": 730,
    "quarterly": 2190,
    "annual": 8760,
}
CHEAPEST_TERM, DEAREST_TERM = Decimal("0.15"), Decimal("1.15")
"""A longer term costs this much of the hourly price an hour, or the period is wrong."""
FAMILY = 3
"""Prices a card that differ more within one sheet are to be looked at."""
BAND = (0.004, 0.4)
"""Yuan a teraflop and hour (16-bit, dense) between which rented cards have been seen."""
ROUGH_YUAN = {"CNY": 1.0, "USD": 7.0, "EUR": 8.0, "GBP": 9.0, "HKD": 0.9, "JPY": 0.05, "SGD": 5.4}
"""Rough worth in yuan, for the sanity band only."""


def check(sheet: Sheet) -> Sheet:
    """The sheet with its rows checked: refused ones become faults, odd ones warnings."""
    rows: list[SheetRow] = []
    faults = list(sheet.faults)
    warnings = list(sheet.warnings)
    for row in sheet.rows:
        reason = _refuse(row)
        if reason is None:
            rows.append(row)
        else:
            faults.append(SheetFault(row.place, reason))
    rows, doubled, repeated = _once(rows)
    return Sheet(
        rows=tuple(rows),
        faults=tuple(faults + doubled),
        skipped=(*sheet.skipped, *repeated),
        warnings=tuple(warnings + _families(rows)),
    )


def _refuse(row: SheetRow) -> Reason | None:
    try:
        currency_places(row.currency)
    except ValueError:
        return Reason(
            "currency", N_("“%(value)s” is not a currency code."), {"value": row.currency}
        )
    if not row.prices:
        return Reason("no_price", N_("No price in any term."))
    if row.valid_from and row.valid_to and row.valid_to <= row.valid_from:
        return Reason("validity", N_("The price ends before it begins."))
    if not 0 <= row.tax_rate < 1:
        return Reason("tax", N_("The tax rate is a share such as 0.06."))
    return _period(row) or _band(row)


def _period(row: SheetRow) -> Reason | None:
    """A month's price in the year's column, or the other way round."""
    base = row.prices.get("hourly")
    if base is None:
        return None
    for kind, price in row.prices.items():
        if kind in ("hourly", "spot"):
            continue
        share = price / HOURS[kind] / base
        if not CHEAPEST_TERM <= share <= DEAREST_TERM:
            return Reason(
                "period",
                N_("%(kind)s is %(share)s times the hourly price an hour: a period or unit slip?"),
                {"kind": kind, "share": f"{share:.3f}"},
            )
    return None


def _band(row: SheetRow) -> Reason | None:
    card, worth = card_for_name(row.card_name), ROUGH_YUAN.get(row.currency)
    rate = card.matrix_flops if card else None
    if rate is None or worth is None:
        return None
    for kind, price in row.prices.items():
        hour = float(price) / HOURS[kind] / row.cards_per_unit
        each = hour * worth / (rate / 1e12)
        if not BAND[0] <= each <= BAND[1]:
            return Reason(
                "band",
                N_(
                    "%(kind)s comes to %(price)s %(currency)s a card and hour, outside anything "
                    "seen for this card: a period, unit or currency slip?"
                ),
                {"kind": kind, "price": f"{hour:.2f}", "currency": row.currency},
            )
    return None


def _once(
    rows: Sequence[SheetRow],
) -> tuple[list[SheetRow], list[SheetFault], list[SheetFault]]:
    """Equal rows count once; rows of one product and region with other prices are refused."""
    seen: dict[tuple[str, str, str], SheetRow] = {}
    faults, repeated = [], []
    for row in rows:
        key = (row.vendor, row.region, row.sku)
        first = seen.setdefault(key, row)
        if first is row:
            continue
        params = {"place": first.place}
        if replace(row, place=first.place) == first:
            repeated.append(
                SheetFault(row.place, Reason("repeated", N_("The same as %(place)s."), params))
            )
        else:
            text = N_("The same product and region as %(place)s with other figures.")
            faults.append(SheetFault(row.place, Reason("contradiction", text, params)))
    return list(seen.values()), faults, repeated


def _families(rows: Sequence[SheetRow]) -> list[SheetFault]:
    groups: dict[tuple[str, str], list[tuple[float, SheetRow]]] = defaultdict(list)
    for row in rows:
        hourly = row.prices.get("hourly")
        if hourly is not None:
            card = card_for_name(row.card_name)
            name = card.slug if card else row.card_name
            groups[name, row.currency].append((float(hourly) / row.cards_per_unit, row))
    found = []
    for prices in groups.values():
        middle = median(price for price, _ in prices)
        found += [
            SheetFault(
                row.place,
                Reason(
                    "family",
                    N_("%(price)s a card and hour, others of this card about %(middle)s."),
                    {"price": f"{price:.2f}", "middle": f"{middle:.2f}"},
                ),
            )
            for price, row in prices
            if not middle / FAMILY <= price <= middle * FAMILY
        ]
    return found
