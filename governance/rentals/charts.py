"""Months of a rental as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from governance.ui import charts
from governance.ui.formats import currency_word
from governance.ui.palette import inks


def month_costs(months: Sequence[Any], currency: str) -> charts.Chart:
    """Billed and amortised cost per month, side by side, net of tax."""
    found = inks("cost", ["amortised", "billed"])
    return charts.bars(
        "months",
        _("Cost per month"),
        [f"{row['month']:%Y-%m}" for row in months],
        [
            charts.Series(_("billed"), [row["billed"] for row in months], found["billed"]),
            charts.Series(_("amortised"), [row["amortised"] for row in months], found["amortised"]),
        ],
        note=currency_word(currency),
        stacked=False,
    )
