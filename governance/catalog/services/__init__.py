"""Acts on the catalogue."""

from governance.catalog import policies
from governance.catalog.services.cards import confirm_figure, keep_unknown_card, seed_catalogue
from governance.catalog.services.prices import ImportReport, import_prices

__all__ = [
    "ImportReport",
    "confirm_figure",
    "import_prices",
    "keep_unknown_card",
    "policies",
    "seed_catalogue",
]
