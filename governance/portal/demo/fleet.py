"""The machines of the demonstration and what runs on their cards."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """How the cards of one rental are used. Shares are 0..1 of the card's theoretical figures;
    `busy` is the share of time with work between `opens` and `closes` (local hours);
    `left_days` is how long ago people stopped using the cards."""

    bandwidth: float
    swing: float
    busy: float
    sm: float
    tensor: float
    memory_bytes: float
    power_w: float
    idle_w: float
    nvlink: float = 0.0
    pcie: float = 2e9
    disk: float = 2e7
    net: float = 5e6
    opens: int = 0
    closes: int = 24
    hours_on: int = 0
    hours_off: int = 0
    drift: float = 0.0
    outage_days: tuple[float, float] | None = None
    left_days: float | None = None


@dataclass(frozen=True)
class Group:
    """Cards of one node that one rental holds."""

    key: str
    project: str
    indexes: tuple[int, ...]
    load: Load


@dataclass(frozen=True)
class Machine:
    """A node; `live` ones have a collector that goes on playing while the demonstration runs."""

    name: str
    model: str
    source: str
    memory_total_bytes: float
    groups: tuple[Group, ...]
    live: bool
    seed: int
    port_offset: int = 0

    def uuid(self, index: int) -> str:
        return f"GPU-demo-{self.name}-{index:02d}"


GB = 1e9
PRETRAINING = Load(0.452, 0.05, 0.97, 0.84, 0.57, 66 * GB, 640, 118, nvlink=140e9, disk=1.6e8)
SERVING = Load(
    0.412, 0.08, 0.82, 0.55, 0.21, 58 * GB, 430, 115, opens=8, closes=22, net=4e7, left_days=5.4
)
CAPTIONS = Load(
    0.245, 0.12, 0.88, 0.24, 0.13, 44 * GB, 300, 116, disk=1.9e9, outage_days=(27.2, 14.8)
)
DETECTION = Load(
    0.163, 0.03, 0.96, 0.20, 0.12, 17.8 * GB, 182, 62, hours_on=7, hours_off=1, disk=9e7
)
RECOGNITION = Load(
    0.312, 0.04, 0.95, 0.42, 0.22, 61 * GB, 300, 64, nvlink=304e9, drift=-0.07, disk=1.2e8
)
LABELLING = Load(0.224, 0.05, 0.9, 0.24, 0.0, 13 * GB, 210, 24, disk=4.8e8)

MACHINES = (
    Machine(
        "bj-h100-01",
        "NVIDIA H100 80GB HBM3",
        "nvml_gpm",
        80 * 2**30,
        (
            Group("pretraining", "pretraining", (0, 1, 2, 3), PRETRAINING),
            Group("synthesis", "synthesis", (4, 5), SERVING),
            Group("captions", "captions", (6, 7), CAPTIONS),
        ),
        live=True,
        seed=11,
        port_offset=1,
    ),
    Machine(
        "sh-a800-01",
        "NVIDIA A800-SXM4-80GB",
        "dcgm_1005",
        80 * 2**30,
        (
            Group("detection", "detection", (0, 1, 2, 3), DETECTION),
            Group("recognition", "recognition", (4, 5, 6, 7), RECOGNITION),
        ),
        live=True,
        seed=23,
        port_offset=2,
    ),
    Machine(
        "sz-4090-01",
        "NVIDIA GeForce RTX 4090",
        "nvml_duty",
        24 * 2**30,
        (Group("labelling", "detection", (0, 1, 2, 3, 4, 5, 6, 7), LABELLING),),
        live=False,
        seed=37,
    ),
)
