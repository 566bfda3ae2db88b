"""What a card and a reading are, and which columns a minute row has.

Plain classes with slots instead of dataclasses: ``dataclasses`` pulls in ``inspect`` and costs
the agent over a megabyte of resident memory.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DRAM_BW = "dram_bw"
DUTY_BOUND = "duty_bound"
VENDOR_PCT = "vendor_pct"
UNKNOWN = "unknown"

# Metric sources, the best first; the order breaks ties when a minute mixes two.
FIDELITY = {
    "nvml_gpm": DRAM_BW,
    "dcgm_1005": DRAM_BW,
    "ascend_hbm": VENDOR_PCT,
    "amd_umc": VENDOR_PCT,
    "nvml_duty": DUTY_BOUND,
    "nvml_duty_uncorrected": DUTY_BOUND,
    "unknown": UNKNOWN,
}
RANK = {source: rank for rank, source in enumerate(FIDELITY)}

OK, LOST, ABSENT = "ok", "lost", "absent"


def plain(text: str) -> str:
    """Text that every reader can keep: no NUL sign, no half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Card:
    """One metered unit: a whole card, or a MIG instance with the card as ``parent``.

    ``(vendor, uuid)`` is the identity; ``index`` is for display only.
    """

    __slots__ = ("index", "labels", "model", "parent", "simulated", "uuid", "vendor")

    def __init__(
        self,
        vendor: str,
        uuid: str,
        *,
        model: str | None = None,
        index: int | None = None,
        parent: str | None = None,
        simulated: bool = False,
        labels: dict[str, str] | None = None,
    ) -> None:
        self.vendor = vendor
        self.uuid = plain(uuid)
        self.model = None if model is None else plain(model)
        self.index = index if index is not None and abs(index) < 2**31 else None
        self.parent = parent
        self.simulated = simulated
        self.labels = labels or {}

    @property
    def key(self) -> tuple[str, str]:
        return (self.vendor, self.uuid)

    def __repr__(self) -> str:
        return f"Card({self.vendor!r}, {self.uuid!r})"


ACTIVE_SM = 0.05
"""SM activity over which a reading counts as active (the edge itself does not)."""


class Reading:
    """What was read of one card at one instant. Shares are 0..1, None is unknown.

    ``reasons`` are codes that say why figures are None or the source is not the best one.
    ``xid`` and ``ecc_*`` count events since the reading before. ``throttle`` is a tuple of names
    or None; ``processes`` a list of dictionaries or None.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    FIELDS = (
        "source",
        "bandwidth",
        "window_ms",
        "clock_ratio",
        "gpu_duty",
        "memory_duty",
        "sm",
        "tensor",
        "memory_used_bytes",
        "memory_total_bytes",
        "power_w",
        "temperature_c",
        "sm_clock_mhz",
        "memory_clock_mhz",
        "pcie_rx_bytes_per_s",
        "pcie_tx_bytes_per_s",
        "nvlink_rx_bytes_per_s",
        "nvlink_tx_bytes_per_s",
        "net_rx_bytes_per_s",
        "net_tx_bytes_per_s",
        "disk_read_bytes_per_s",
        "disk_write_bytes_per_s",
        "throttle",
        "xid",
        "ecc_corrected",
        "ecc_uncorrected",
        "processes",
        "reasons",
    )
    __slots__ = FIELDS

    def __init__(self, source: str = UNKNOWN, **figures: object) -> None:
        for name in self.FIELDS:
            setattr(self, name, None)
        self.source = source
        self.reasons: list[str] = []
        for name, value in figures.items():
            setattr(self, name, value)

    def because(self, *codes: str) -> None:
        """Add reason codes, each once."""
        for code in codes:
            if code not in self.reasons:
                self.reasons.append(code)

    @property
    def known(self) -> bool:
        """At least one figure was read."""
        return any(getattr(self, name) is not None for name in _FIGURES)

    @property
    def active(self) -> bool | None:
        """Whether the card worked: SM activity over 5 %, else any GPU duty, else any bandwidth;
        None = unknown. Duty alone would count a waiting kernel as work."""
        if self.sm is not None:
            return bool(self.sm > ACTIVE_SM)
        for value in (self.gpu_duty, self.bandwidth):
            if value is not None:
                return bool(value > 0)
        return None

    def pack(self) -> list[object]:
        """As a list in the order of FIELDS, trailing unknowns cut, for the spool."""
        values = [getattr(self, name) for name in self.FIELDS]
        if not values[-1]:
            values[-1] = None
        while values and values[-1] is None:
            values.pop()
        return values

    @classmethod
    def unpack(cls, values: list[object], fields: tuple[str, ...] = FIELDS) -> Reading:
        """The reading that ``pack`` wrote; fields unknown to this version are dropped."""
        reading = cls()
        for name, value in zip(fields, values, strict=False):
            if name in cls.FIELDS and value is not None:
                setattr(reading, name, value)
        return reading


_FIGURES = tuple(name for name in Reading.FIELDS if name not in ("source", "reasons", "window_ms"))

MEANS = (
    # column, field of the reading, digits kept
    ("clock_ratio", "clock_ratio", 6),
    ("window_ms", "window_ms", 1),
    ("gpu_duty_mean", "gpu_duty", 9),
    ("memory_duty_mean", "memory_duty", 9),
    ("sm_mean", "sm", 9),
    ("tensor_mean", "tensor", 9),
    ("power_w_mean", "power_w", 6),
    ("sm_clock_mhz_mean", "sm_clock_mhz", 3),
    ("memory_clock_mhz_mean", "memory_clock_mhz", 3),
    ("pcie_rx_bytes_per_s_mean", "pcie_rx_bytes_per_s", 1),
    ("pcie_tx_bytes_per_s_mean", "pcie_tx_bytes_per_s", 1),
    ("nvlink_rx_bytes_per_s_mean", "nvlink_rx_bytes_per_s", 1),
    ("nvlink_tx_bytes_per_s_mean", "nvlink_tx_bytes_per_s", 1),
    ("net_rx_bytes_per_s_mean", "net_rx_bytes_per_s", 1),
    ("net_tx_bytes_per_s_mean", "net_tx_bytes_per_s", 1),
    ("disk_read_bytes_per_s_mean", "disk_read_bytes_per_s", 1),
    ("disk_write_bytes_per_s_mean", "disk_write_bytes_per_s", 1),
)

# Columns of a minute row after seq, card and minute, with their SQLite type. A JSON column holds
# a list and is stored as text.
COLUMNS = {
    "source": "TEXT",
    "fidelity": "TEXT",
    "samples": "INTEGER",
    "active_samples": "INTEGER",
    "bandwidth_samples": "INTEGER",
    "bandwidth_active_samples": "INTEGER",
    "bandwidth_mean": "REAL",
    "bandwidth_active_mean": "REAL",
    "bandwidth_max": "REAL",
    "bandwidth_max_at": "INTEGER",
    "bandwidth_p95": "REAL",
    "bandwidth_histogram": "JSON",
    "bandwidth_active_histogram": "JSON",
    **{column: "REAL" for column, _, _ in MEANS},
    "memory_used_bytes_max": "INTEGER",
    "memory_total_bytes": "INTEGER",
    "temperature_c_max": "REAL",
    "throttle": "TEXT",
    "xid_count": "INTEGER",
    "ecc_corrected_count": "INTEGER",
    "ecc_uncorrected_count": "INTEGER",
    "processes": "JSON",
    "reason": "TEXT",
}
