"""What all dumps share: the instant they stand for, and names for cards without a UUID."""

from __future__ import annotations

from datetime import tzinfo

from collector.formats.cells import quantity
from collector.formats.times import NoZone, instant, zone
from collector.model import Reading


class Moment:
    """When a dump was taken.

    ``--at`` wins; then the dump's own time, if it has a zone or ``--timezone`` gives one; else the
    file's time of modification, which the readings say (``time_of_file``).
    """

    def __init__(self, at: float | None, taken: float, timezone: str | None) -> None:
        self._at = at
        self._taken = taken
        self._zone: tzinfo | None = zone(timezone)

    def of(self, stamp: str | None) -> tuple[float, str | None]:
        """Unix time and a reason code."""
        if self._at is not None:
            return self._at, None
        if stamp:
            try:
                return instant(stamp, self._zone), None
            except NoZone:
                pass
        return self._taken, "time_of_file"


def local_name(node: str | None, name: str) -> str:
    """An identity for a card that tells none of its own; unique within the node only."""
    return f"{node}/{name}" if node else name


def put(reading: Reading, field: str, text: str | None, kind: str, scale: float = 1.0) -> None:
    """Set a field from a cell; a cell without a figure leaves a reason."""
    value, reason = quantity(text, kind, scale)
    setattr(reading, field, value)
    if reason:
        reading.because(f"{field}:{reason}")


def duty_as_bandwidth(reading: Reading, clock_max: float | None) -> None:
    """The memory duty cycle as an upper bound of bandwidth, corrected by the clock if known."""
    if reading.memory_duty is None:
        return
    if reading.memory_clock_mhz and clock_max:
        reading.clock_ratio = min(1.0, reading.memory_clock_mhz / clock_max)
        reading.source = "nvml_duty"
        reading.bandwidth = reading.memory_duty * reading.clock_ratio
    else:
        reading.source = "nvml_duty_uncorrected"
        reading.bandwidth = reading.memory_duty
        reading.because("no_memory_clock")
