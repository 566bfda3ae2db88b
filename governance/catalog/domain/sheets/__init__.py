"""Price sheets: our own CSV, SkyPilot's catalogue, the GCP price calculator's YAML."""

from .checks import check
from .gcp import read_gcp
from .native import COLUMNS, read_native
from .row import Sheet, SheetFault, SheetRow, to_offer
from .skypilot import read_skypilot

FORMATS = {"native": read_native, "skypilot": read_skypilot, "gcp-calculator": read_gcp}


def read_sheet(text: str, form: str) -> Sheet:
    """The rows of a sheet with what is wrong in it. Raises KeyError for an unknown format."""
    return check(FORMATS[form](text))


__all__ = [
    "COLUMNS",
    "FORMATS",
    "Sheet",
    "SheetFault",
    "SheetRow",
    "read_sheet",
    "to_offer",
]
