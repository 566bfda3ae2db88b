"""Preview: every entry of a term before anyone commits, by the function that posts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from governance.kernel.errors import Invalid
from governance.kernel.money import currency_places
from governance.kernel.reasons import N_, Reason
from governance.rentals.domain.posting import Entry, preview_entries
from governance.rentals.domain.spec import ZERO
from governance.rentals.domain.taxes import Totals
from governance.rentals.domain.terms import Change, Tax, Terms
from governance.rentals.domain.vendors import rule_sets
from governance.rentals.models import Component


@dataclass(frozen=True, slots=True)
class Preview:
    """Entries in order of due time with their sums, in one currency."""

    entries: tuple[Entry, ...]
    totals: Totals
    currency: str


def horizon(start: datetime) -> datetime:
    """How far a rental without an end is shown: a year."""
    return start + timedelta(days=365)


def described(data: Mapping[str, Any], zone: ZoneInfo) -> list[tuple[Component | str, Terms]]:
    """Terms from the fields of the preview form; Invalid for a currency that is none."""
    try:
        places = currency_places(data["currency"])
    except ValueError as error:
        text = N_("This is no currency code of ISO 4217, such as CNY.")
        raise Invalid(Reason("rental_currency", text), "currency") from error
    rate = (data.get("tax_rate") or ZERO) / 100
    tax = Tax(rate, bool(data.get("tax_inclusive"))) if rate else None
    rules = rule_sets()[data["rules"]]
    changes: tuple[Change, ...] = ()
    if data.get("change_at"):
        changes = (
            Change(data["change_at"], data.get("change_price"), data.get("change_quantity")),
        )
    terms = Terms(
        currency=data["currency"],
        zone=zone,
        plan=rules.plan(data["kind"], data["price"], places=places, tax=tax),
        start=rules.begins(data["starts_at"]),
        end=data["ends_at"],
        quantity=data["quantity"],
        changes=changes,
    )
    return [("cards", terms)]


def exceeds(shown: Preview, approved: Decimal | None, currency: str) -> bool:
    """Whether the charges are more than was approved, by more than their rounding can make."""
    if approved is None or currency != shown.currency:
        return False
    return shown.totals.gross - approved > Decimal("0.01") * len(shown.entries)


def preview(
    components: Iterable[tuple[Component | str, Terms]], until: datetime | None = None
) -> Preview:
    """What a rental will be charged over its whole term (or, without an end, until a time)."""
    parts = [
        (component if isinstance(component, str) else component.code, terms)
        for component, terms in components
    ]
    made = tuple(preview_entries(parts, until))
    currency = parts[0][1].currency
    net = sum((entry.net for entry in made), ZERO)
    tax = sum((entry.tax for entry in made), ZERO)
    return Preview(made, Totals(net, tax, net + tax), currency)
