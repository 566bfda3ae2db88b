"""Which of two rows for one card and minute stays.

The one with more samples; among equals the better source, then the greater agent, epoch and
sequence number. The order is total, so the winner does not depend on the order of arrival.
"""

import polars as pl

RANK = ("samples", "source", "agent", "epoch", "seq")
"""Greatest wins, compared from left to right; agent and epoch byte by byte."""


def fold(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, int]]:
    """One row per card and minute of each delivery (one agent, one epoch); and how many rows
    lost, by delivery. Needs the columns `delivery` and `card_id`."""
    keys = ["delivery", "card_id", "minute"]
    place = pl.col("card_id").cast(pl.Int64) * 2**32 + pl.col("minute")
    if rows.height == rows.select(place.n_unique()).item():
        return rows, {}
    kept = (
        rows.sort("samples", "source", "seq")
        .unique(subset=keys, keep="last", maintain_order=True)
        .sort(keys)
    )
    before = dict(rows.group_by("delivery").len().iter_rows())
    after = dict(kept.group_by("delivery").len().iter_rows())
    return kept, {place: before[place] - after[place] for place in before}
