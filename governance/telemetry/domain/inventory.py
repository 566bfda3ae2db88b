"""An inventory of machines: node, card model, how many."""

from __future__ import annotations

from collections.abc import Iterable

from governance.telemetry.domain.tabular import Names, TableFault, rows, whole

NAMES = Names(
    {
        "node": ("machine", "host", "hostname", "name"),
        "card_model": ("model", "gpu_type", "gpu", "type", "card"),
        "cards": ("count", "cap_gpu", "gpus", "num_gpus", "gpu_num"),
    },
    required=("node", "card_model", "cards"),
)


def read(lines: Iterable[str], *, columns: str | None = None) -> dict[tuple[str, str], int]:
    """(node, model text) -> cards; TableFault with the line."""
    found: dict[tuple[str, str], int] = {}
    for line, cells in rows(lines, NAMES, columns):
        key = (cells["node"], cells["card_model"])
        if not all(key) or max(map(len, key)) > 200:
            raise TableFault(f"line {line}: node and card model need 1 to 200 characters")
        if key in found:
            raise TableFault(f"line {line}: {key[0]} with {key[1]} is there twice")
        found[key] = whole(cells["cards"], line, "cards")
    return found
