"""Which of two rows for one card and minute stays.

The one with more samples; among equals the better source, then the greater agent, epoch and
sequence number. The order is total, so the winner does not depend on the order of arrival.
"""

import polars as pl

RANK = ("samples", "source", "agent", "epoch", "seq")
"""Greatest wins, compared from left to right; agent and epoch byte by byte."""


def fold_page(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """One row per card and minute of a page (one agent, one epoch), and how many lost."""
    keys = ["card", "minute"]
    place = pl.col("card").cast(pl.Int64) * 2**32 + pl.col("minute")
    if rows.height == rows.select(place.n_unique()).item():
        return rows, 0
    kept = (
        rows.sort("samples", "source", "seq")
        .unique(subset=keys, keep="last", maintain_order=True)
        .sort(keys)
    )
    return kept, rows.height - kept.height
