"""Reads of rentals, their terms, charges and costs; each starts from what the viewer may see."""

from governance.rentals.queries.costs import COST_GROUPS, cost_rows
from governance.rentals.queries.faults import faults
from governance.rentals.queries.lists import (
    changes_of,
    charges_of,
    cost_months,
    rental_for,
    rentals_of_request,
    rentals_visible_to,
)
from governance.rentals.queries.months import first_open_day, is_closed, months
from governance.rentals.queries.preview import Preview, preview
from governance.rentals.queries.purchase import purchase_options, purchase_spec
from governance.rentals.queries.terms import rental_terms, terms_of

__all__ = [
    "COST_GROUPS",
    "Preview",
    "changes_of",
    "charges_of",
    "cost_months",
    "cost_rows",
    "faults",
    "first_open_day",
    "is_closed",
    "months",
    "preview",
    "purchase_options",
    "purchase_spec",
    "rental_for",
    "rental_terms",
    "rentals_of_request",
    "rentals_visible_to",
    "terms_of",
]
