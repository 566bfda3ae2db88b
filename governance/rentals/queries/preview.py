"""Preview: every entry of a term before anyone commits, by the function that posts it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from governance.rentals.domain.posting import Entry, preview_entries
from governance.rentals.domain.spec import ZERO
from governance.rentals.domain.taxes import Totals
from governance.rentals.domain.terms import Terms
from governance.rentals.models import Component


@dataclass(frozen=True, slots=True)
class Preview:
    """Entries in order of due time with their sums, in one currency."""

    entries: tuple[Entry, ...]
    totals: Totals
    currency: str


def preview(
    components: Iterable[tuple[Component | str, Terms]], until: datetime | None = None
) -> Preview:
    """What a rental will be charged over its whole term (or, without an end, until a time)."""
    parts = [
        (component if isinstance(component, str) else component.code, terms)
        for component, terms in components
    ]
    made = tuple(preview_entries(parts, until))
    net = sum((entry.net for entry in made), ZERO)
    tax = sum((entry.tax for entry in made), ZERO)
    return Preview(made, Totals(net, tax, net + tax), parts[0][1].currency)
