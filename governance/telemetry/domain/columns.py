"""The columns of a card-minute: what the wire calls them, what the table stores.

One table drives the check of pages, the COPY, the merge and the roll-up, so that a new figure is
one line here and one field in the models.
"""

from dataclasses import dataclass, field

SHARE = 10**9
"""Sums of shares are kept in whole billionths, so that no order of adding changes an answer."""

MILLI = 10**3
TENTH = 0.1
SMALL = 32_767
MOST_SAMPLES = 6_000
"""Readings a minute (100 a second): sums of shares over a day stay under 2^53, so adding them
is exact."""


@dataclass(frozen=True)
class Figure:
    """A measured column: `name` in the table, `wire` columns added up to it, valid range.

    `scale` is the fixed point in which its sums are kept; None for figures that are not summed.
    """

    name: str
    wire: tuple[str, ...]
    high: float
    unit: str
    scale: float | None = None
    low: float = 0.0
    whole: bool = False


BANDWIDTH = (
    Figure("bandwidth_mean", ("bandwidth_mean",), 1, "share", SHARE),
    Figure("bandwidth_active_mean", ("bandwidth_active_mean",), 1, "share", SHARE),
    Figure("bandwidth_max", ("bandwidth_max",), 1, "share"),
    Figure("bandwidth_p95", ("bandwidth_p95",), 1, "share"),
)
"""Bandwidth share of theoretical; one of them out of range makes all of them unknown."""

MEANS = (
    Figure("gpu_duty", ("gpu_duty_mean",), 1, "share", SHARE),
    Figure("memory_duty", ("memory_duty_mean",), 1, "share", SHARE),
    Figure("sm", ("sm_mean",), 1, "share", SHARE),
    Figure("tensor", ("tensor_mean",), 1, "share", SHARE),
    Figure("clock_ratio", ("clock_ratio",), 1, "share", SHARE),
    Figure("power_w", ("power_w_mean",), 20_000, "W", MILLI),
    Figure(
        "nvlink",
        ("nvlink_rx_bytes_per_s_mean", "nvlink_tx_bytes_per_s_mean"),
        1e13,
        "bytes/s",
        TENTH,
    ),
    Figure(
        "pcie", ("pcie_rx_bytes_per_s_mean", "pcie_tx_bytes_per_s_mean"), 1e13, "bytes/s", TENTH
    ),
    Figure("net", ("net_rx_bytes_per_s_mean", "net_tx_bytes_per_s_mean"), 1e13, "bytes/s", TENTH),
    Figure(
        "disk",
        ("disk_read_bytes_per_s_mean", "disk_write_bytes_per_s_mean"),
        1e13,
        "bytes/s",
        TENTH,
    ),
)
"""Means over the minute's samples; both directions of a link are added."""

PEAKS = (
    Figure("memory_used_bytes", ("memory_used_bytes_max",), 1e14, "bytes", whole=True),
    Figure("memory_total_bytes", ("memory_total_bytes",), 1e14, "bytes", whole=True),
    Figure("temperature_c", ("temperature_c_max",), 200, "degrees C", low=-50),
    Figure("window_ms", ("window_ms",), 3.6e6, "ms"),
)
COUNTS = (
    Figure("xid_count", ("xid_count",), SMALL, "events", whole=True),
    Figure("ecc_corrected_count", ("ecc_corrected_count",), 2**31 - 1, "errors", whole=True),
    Figure("ecc_uncorrected_count", ("ecc_uncorrected_count",), 2**31 - 1, "errors", whole=True),
)
FIGURES = BANDWIDTH + MEANS + PEAKS + COUNTS

TEXTS = ("throttle", "reason")

WEIGHTS = ("samples", "active_samples", "bandwidth_samples", "bandwidth_active_samples")

KEYS = ("card_id", "minute", "stream_id", "seq")
"""Card, minutes since 1970, the stream (agent and epoch) and its sequence number."""

STORED = (
    *KEYS,
    "source",
    "fidelity",
    *WEIGHTS,
    *(figure.name for figure in FIGURES),
    "bandwidth_max_at",
    *TEXTS,
)
"""Every column of the minute table, in the order in which rows are copied.

`bandwidth_max_at` is the second within the minute at which `bandwidth_max` was read."""

REQUIRED = ("seq", "card", "minute", "source", "samples")


@dataclass(frozen=True)
class Rollup:
    """What an hour or a day keeps of one mean: the sum of mean x samples, the samples that had a
    figure, and the same weighted by active samples."""

    figure: Figure
    total: str = field(init=False)
    weight: str = field(init=False)
    active_total: str = field(init=False)
    active_weight: str = field(init=False)

    def __post_init__(self) -> None:
        for attribute in ("total", "weight", "active_total", "active_weight"):
            object.__setattr__(self, attribute, f"{self.figure.name}_{attribute}")


ROLLED = tuple(Rollup(figure) for figure in MEANS)

BINS = 20
"""Histograms count active samples by bandwidth share in steps of 5 %."""
