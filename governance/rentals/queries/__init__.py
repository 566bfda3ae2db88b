"""Reads of rentals, their terms, charges and costs; each starts from what the viewer may see."""

from governance.rentals.queries.comparison import PlanComparison, plan_comparison
from governance.rentals.queries.costs import COST_GROUPS, cost_rows
from governance.rentals.queries.faults import faults
from governance.rentals.queries.lists import (
    by_id,
    changes_of,
    charges_of,
    component_rows,
    cost_months,
    cost_totals,
    listed,
    rental_for,
    rentals_of_request,
    rentals_visible_to,
    with_charges,
)
from governance.rentals.queries.months import (
    NOTHING_TO_CLOSE,
    closed_month,
    first_open_day,
    is_closed,
    months,
    next_month,
)
from governance.rentals.queries.preview import Preview, described, exceeds, horizon, preview
from governance.rentals.queries.purchase import purchase_options, purchase_spec
from governance.rentals.queries.terms import rental_terms, terms_of

__all__ = [
    "COST_GROUPS",
    "NOTHING_TO_CLOSE",
    "PlanComparison",
    "Preview",
    "by_id",
    "changes_of",
    "charges_of",
    "closed_month",
    "component_rows",
    "cost_months",
    "cost_rows",
    "cost_totals",
    "described",
    "exceeds",
    "faults",
    "first_open_day",
    "horizon",
    "is_closed",
    "listed",
    "months",
    "next_month",
    "plan_comparison",
    "preview",
    "purchase_options",
    "purchase_spec",
    "rental_for",
    "rental_terms",
    "rentals_of_request",
    "rentals_visible_to",
    "terms_of",
    "with_charges",
]
