"""Parts of a rental paid by what was measured: traffic per GB, bandwidth by its 95th percentile."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

GB = 1_000_000_000


def percentile_95(samples: Sequence[Decimal]) -> Decimal:
    """The monthly 95th percentile as carriers bill it: the highest 5 % of the samples are dropped
    and the highest of the rest counts (of 100 samples the 95th). `ValueError` without samples."""
    if not samples:
        raise ValueError("a percentile needs at least one sample")
    ordered = sorted(samples)
    kept = len(ordered) - len(ordered) * 5 // 100
    return ordered[kept - 1]


def percentile_charge(samples: Sequence[Decimal], price_per_mbit: Decimal) -> Fraction:
    """A month's charge for bandwidth samples in Mbit/s, not rounded."""
    return Fraction(percentile_95(samples)) * Fraction(price_per_mbit)


def traffic_charge(moved_bytes: int, included_gb: Decimal, price_per_gb: Decimal) -> Fraction:
    """The charge for traffic over what is included, in decimal gigabytes, not rounded."""
    over = Fraction(moved_bytes, GB) - Fraction(included_gb)
    return max(Fraction(0), over) * Fraction(price_per_gb)
