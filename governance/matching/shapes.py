"""What goes into the matcher and what comes out. Plain records; SI units unless the name says
otherwise; shares are 0..1; money is Decimal; None is not known."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from governance.kernel.reasons import Reason

ENGINE_VERSION = "1"

METHODS = ("pretrain", "full", "lora", "qlora", "batch_inference", "serving")
TRAINING = ("pretrain", "full", "lora", "qlora")
PRECISIONS = ("bf16", "fp16", "fp8", "int8", "int4")
RECOMPUTE = ("auto", "none", "selective", "full")
LAYERS = ("memory", "interconnect", "network", "egress", "compute", "storage")
"""The four bandwidth layers, with compute and storage beside them."""


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """What a person asks for. Sizes that a preset fills may be left None; what is None after that
    is derived from the parameter count."""

    method: str = "lora"
    preset: str | None = None
    params_b: float | None = None
    active_params_b: float | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    vocab: int | None = None
    tokens: float | None = None
    samples: float | None = None
    epochs: float = 1.0
    seq_len: int = 2048
    global_batch: int | None = None
    """Sequences a step."""
    precision: str = "bf16"
    recompute: str = "auto"
    lora_rank: int = 16
    offload: bool = False
    engine: str = ""
    """Software that is to run it; '' takes what is usual for the method."""
    deadline_hours: float | None = None
    cards_preferred: tuple[str, ...] = ()
    cards_banned: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    max_cards: int = 64
    budget: Decimal | None = None
    currency: str | None = None
    business_type: str = ""
    data_gb: float | None = None
    data_region: str | None = None
    bytes_per_token: float = 4.0
    """What a training token weighs on storage."""
    goodput: float = 1.25
    """Whole-run time / pure step time: restarts, evaluation, checkpoints."""
    concurrency: int | None = None
    prompt_tokens: int = 512
    output_tokens: int = 256
    response_kb: float | None = None
    delivery_s: float = 1.0
    stream_tokens_per_s: float | None = None
    bytes_per_event: float = 200.0
    headroom: float = 1.5
    ttft_ms: float | None = None
    users_region: str | None = None
    filing_done: bool = False
    service_hours: float = 730.0
    """How long a service is to run; training takes what it takes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one job is laid over the cards: cards = data x tensor x pipeline x context."""

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    interleave: int = 1
    zero: int = 0
    shard: int = 0
    """Ranks that share one set of sharded parameters; 0 = all data ranks."""
    micro_batch: int = 1
    accumulation: int = 1
    recompute: str = "none"
    offload: bool = False
    quantised: bool = False
    sequence_parallel: bool = False

    @property
    def cards(self) -> int:
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def sharers(self) -> int:
        """Ranks among which stage 3 splits the parameters."""
        return self.shard or self.data


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Bytes on the fullest card."""

    weights: float
    gradients: float
    optimiser: float
    activations: float
    logits: float
    kv_cache: float
    gathered: float
    overhead: float
    usable: float

    @property
    def total(self) -> float:
        return (
            self.weights
            + self.gradients
            + self.optimiser
            + self.activations
            + self.logits
            + self.kv_cache
            + self.gathered
            + self.overhead
        )

    @property
    def fits(self) -> bool:
        return self.total <= self.usable

    @property
    def share(self) -> float:
        return self.total / self.usable


@dataclass(frozen=True, slots=True)
class StepParts:
    """Seconds of one optimiser step (of one decoded token, for serving), before overlap."""

    compute: float
    memory: float
    interconnect: float
    network: float
    storage: float
    bubble: float
    overhead: float
    total: float
    """After overlap: what a clock would show."""


@dataclass(frozen=True, slots=True)
class Egress:
    """Public bandwidth, an empirical estimate to be confirmed by a load test."""

    mbit_per_s: float
    offered_mbit: float | None
    month_gb: float
    overage_cost: Decimal | None
    formula: str


@dataclass(frozen=True, slots=True)
class Package:
    """One offer x count x plan, judged."""

    offer_id: str
    vendor: str
    region: str
    card: str
    card_name: str
    count: int
    nodes: int
    cards_per_node: int
    units: int
    plan: Plan
    memory: MemoryParts
    step: StepParts
    layers: dict[str, float]
    """Share of the step each layer would take alone, 0..1; the largest is the bottleneck."""
    bottleneck: str
    tokens_per_s: float
    hours: float
    hours_low: float
    hours_high: float
    setup_hours: float
    """Bringing the data and loading the weights."""
    setup_cost: Decimal
    costs: dict[str, Decimal]
    """Per term, what the whole job costs when bought in it."""
    best_term: str
    cost: Decimal
    cost_low: Decimal
    cost_high: Decimal
    currency: str
    meets_deadline: bool
    within_budget: bool
    rank: int = 0
    pareto: bool = False
    reason: Reason = field(default_factory=lambda: Reason("", ""))
    notes: tuple[Reason, ...] = ()
    choices: tuple[Reason, ...] = ()
    """What each choice of the plan does to memory and to the bandwidth layers."""
    idle_id: str | None = None
    egress: Egress | None = None
    ttft_ms: float | None = None
    price_id: int | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """An offer that cannot serve the request, and why."""

    offer_id: str
    vendor: str
    region: str
    card: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The answer, best first; `packages` keeps one line per offer that any count could serve."""

    packages: tuple[Package, ...]
    rejected: tuple[Rejected, ...]
    request: RequestSpec
    engine: str = ENGINE_VERSION
    notes: tuple[Reason, ...] = ()
