"""What the roll-ups know of some cards over some time, from one metric source.

Sums and weights, never means: two records of one source add up field by field, so that no figure
depends on how time or cards were cut. Shares are 0..1, None is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

BINS = 20
"""The histogram counts active samples by bandwidth share in steps of 5 %."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A sum of values times samples, and the samples that had a value."""

    total: float = 0.0
    weight: float = 0.0

    @property
    def mean(self) -> float | None:
        return self.total / self.weight if self.weight else None

    def __add__(self, other: Weighted) -> Weighted:
        return Weighted(self.total + other.total, self.weight + other.weight)


NOTHING = Weighted()


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums over card-minutes of one metric source.

    `held_minutes` are the card-minutes that were rented (or in the window), `known_minutes` those
    with a reading of this source. `bandwidth` is weighted by samples, `bandwidth_active` by active
    samples; `histogram` counts active samples in steps of 5 %.
    """

    source: str = "unknown"
    fidelity: str = "unknown"
    cards: int = 0
    held_minutes: int = 0
    known_minutes: int = 0
    samples: int = 0
    active_samples: int = 0
    bandwidth: Weighted = NOTHING
    bandwidth_active: Weighted = NOTHING
    bandwidth_max: float | None = None
    bandwidth_peak_at: datetime | None = None
    histogram: tuple[int, ...] = (0,) * BINS
    gpu_duty: Weighted = NOTHING
    memory_duty: Weighted = NOTHING
    sm: Weighted = NOTHING
    tensor: Weighted = NOTHING
    power_w: Weighted = NOTHING
    memory_peak_bytes: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """Both together; `ValueError` for two sources, which are never mixed. Cards are counted
        by who groups: the larger count is kept."""
        if (self.source, self.fidelity) != (other.source, other.fidelity):
            raise ValueError(f"{self.source} and {other.source} are two metric sources")
        first = self if _peak(self) >= _peak(other) else other
        return Usage(
            source=self.source,
            fidelity=self.fidelity,
            cards=max(self.cards, other.cards),
            held_minutes=self.held_minutes + other.held_minutes,
            known_minutes=self.known_minutes + other.known_minutes,
            samples=self.samples + other.samples,
            active_samples=self.active_samples + other.active_samples,
            bandwidth=self.bandwidth + other.bandwidth,
            bandwidth_active=self.bandwidth_active + other.bandwidth_active,
            bandwidth_max=first.bandwidth_max,
            bandwidth_peak_at=first.bandwidth_peak_at,
            histogram=tuple(a + b for a, b in zip(self.histogram, other.histogram, strict=True)),
            gpu_duty=self.gpu_duty + other.gpu_duty,
            memory_duty=self.memory_duty + other.memory_duty,
            sm=self.sm + other.sm,
            tensor=self.tensor + other.tensor,
            power_w=self.power_w + other.power_w,
            memory_peak_bytes=max(
                (p for p in (self.memory_peak_bytes, other.memory_peak_bytes) if p is not None),
                default=None,
            ),
        )


def _peak(usage: Usage) -> float:
    return -1.0 if usage.bandwidth_max is None else usage.bandwidth_max


def together(parts: Iterable[Usage]) -> dict[str, Usage]:
    """The parts summed per metric source, by name of the source."""
    found: dict[str, Usage] = {}
    for part in parts:
        found[part.source] = found[part.source] + part if part.source in found else part
    return found
