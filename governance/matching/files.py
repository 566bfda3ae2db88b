"""Files in and out: measured rows to predict, offers to match."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from governance.catalog.domain import OfferView, card_for_name
from governance.catalog.domain.sheets import SheetFault, read_sheet, to_offer
from governance.kernel.reasons import N_, Reason

from .rows import Answer, predict_row

NEEDED = ("id", "workload", "params_b", "gpu", "measured_metric")
ADDED = ("predicted_value", "low", "high", "fits", "bottleneck", "reason")


class BadFile(ValueError):
    """A file that cannot be used; one line a fault."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def predict_file(text: str) -> Iterator[list[str]]:
    """The lines of the answer, head first: every column of the input and what is predicted.

    Raises BadFile before the first line for a file without the needed columns."""
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    head = [name for name in reader.fieldnames or [] if name]
    missing = [name for name in NEEDED if name not in head]
    if missing:
        raise BadFile([f"line 1: the column {name} is missing" for name in missing])
    kept = [name for name in head if name not in ADDED]
    return _answers(reader, kept)


def _answers(reader: csv.DictReader[str], kept: list[str]) -> Iterator[list[str]]:
    yield [*kept, *ADDED]
    for raw in reader:
        cells = {name: raw.get(name) or "" for name in kept}
        yield [*cells.values(), *_cells(predict_row(cells))]


def _cells(answer: Answer) -> list[str]:
    fits = "" if answer.fits is None else str(int(answer.fits))
    numbers = (answer.value, answer.low, answer.high)
    return [
        *("" if n is None else f"{n:.6g}" for n in numbers),
        fits,
        answer.bottleneck,
        answer.reason,
    ]


def read_offers(text: str) -> list[OfferView]:
    """Offers of a native price sheet, without a database. Raises BadFile for any bad row."""
    sheet = read_sheet(text, "native")
    faults = list(sheet.faults)
    offers = []
    for row in sheet.rows:
        card = card_for_name(row.card_name)
        if card is None:
            reason = Reason("card", N_("No card is called “%(name)s”."), {"name": row.card_name})
            faults.append(SheetFault(row.place, reason))
            continue
        offers.append(to_offer(row, card))
    if faults:
        raise BadFile([f"line {fault.place}: {fault.reason}" for fault in faults])
    return offers
