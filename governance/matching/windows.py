"""What telemetry says of a job's cards over a window, and the thresholds it is held against."""

from __future__ import annotations

from dataclasses import dataclass, field

from governance.kernel.reasons import Reason

FIDELITIES = ("dram_bw", "duty_bound", "vendor_pct", "unknown")


@dataclass(frozen=True, slots=True)
class UsageWindow:
    """Means over active time of one card (or of a job's cards), shares 0..1, None not measured.

    `bandwidth` is the share that the metric source gives: of theoretical bandwidth for `dram_bw`,
    an upper bound of it for `duty_bound`. Link, network and disk are shares of what was measured
    or offered; `memory_peak` is bytes; `bandwidth_bytes_per_s` is a rate where the source gives
    one instead of a share."""

    coverage: float
    fidelity: str = "dram_bw"
    source: str = ""
    active_hours: float = 168.0
    active_share: float | None = None
    bandwidth: float | None = None
    bandwidth_p95: float | None = None
    bandwidth_bytes_per_s: float | None = None
    gpu: float | None = None
    sm: float | None = None
    tensor: float | None = None
    memory_peak: float | None = None
    link: float | None = None
    pcie_bytes_per_s: float | None = None
    network: float | None = None
    disk: float | None = None
    cpu: float | None = None
    memcpy: float | None = None
    sawtooth: bool | None = None
    """Utilisation swings between idle and busy, as with a loader that cannot keep up."""
    scaling: float | None = None
    """Efficiency against one card: throughput of n cards / (n x throughput of one)."""
    sync_wait: float | None = None
    """Share of the step that waits for other cards."""
    cards: int = 1
    nodes: int = 1
    throttled: float | None = None
    """Share of time that heat or power held the clock down."""
    faults: int = 0
    serving: bool = False


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cut-offs; shares. SM 0.5/0.8 and the DRAM ceiling of 0.8 are NVIDIA's, 0.05 to 0.5 those of
    KempnerPulse, the rest are proposals to be set by the team."""

    flag: float = 0.30
    coverage: float = 0.70
    active_hours: float = 24.0
    ceiling: float = 0.80
    idle: float = 0.05
    starved_sm: float = 0.30
    busy_pcie: float = 1e9
    busy_memcpy: float = 0.40
    busy_disk: float = 0.80
    busy_cpu: float = 0.90
    low_sm: float = 0.50
    busy_link: float = 0.60
    busy_wait: float = 0.20
    good_scaling: float = 0.85
    tensor_heavy: float = 0.50
    tensor_some: float = 0.15
    heavy_sm: float = 0.60
    some_sm: float = 0.40
    high_sm: float = 0.80
    capacity: float = 0.70
    capacity_next: float = 0.90
    bound_dram: float = 0.50
    high_dram: float = 0.40
    launch_gpu: float = 0.40
    launch_sm: float = 0.25
    launch_dram: float = 0.15
    roomy: float = 0.50
    throttle: float = 0.10
    memory_margin: float = 1.10
    worthwhile: float = 0.90


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which row of the decision table matched. `flag_bw_low_30` is None where nothing can be said;
    `downgrade` is no, what_if or yes (still subject to the what-if)."""

    row: int
    cause: str
    flag_bw_low_30: bool | None
    downgrade: str
    verdict: Reason
    action: Reason
    reason: Reason
    figures: dict[str, float] = field(default_factory=dict)
    source: str = ""
    confidence: str = "high"
