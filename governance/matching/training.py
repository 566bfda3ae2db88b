"""Seconds of one optimiser step, by layer of the machine.

Sources: 6 N D and its relatives (arXiv:2001.08361), recompute and tensor parallelism
(arXiv:2104.04473, arXiv:2205.05198), sharded states (arXiv:1910.02054), roofline. For adapters
the weight gradients of the frozen weights are not computed: 4 N instead of 6 N a token."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from .constants import Values
from .hardware import Hardware
from .model import ModelShape
from .shapes import Plan, StepParts
from .stacks import Stack

BACKWARD_ATTENTION = 2.5
"""A fused attention kernel computes five products backward and two forward."""
NF4 = 0.56
"""Bytes a 4-bit weight with its scales (4.127 bit with double quantisation, 4.5 without)."""
ADAM_BYTES = 28.0
"""Traffic of one Adam step a parameter: read and write weights, gradient, two moments, master."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is trained: method pretrain|full|lora|qlora, `seq` tokens a sequence."""

    model: ModelShape
    method: str
    seq: int
    rank: int = 16
    fp8: bool = False
    weight_bits: float = 16.0
    chunked_loss: bool = False
    state_bytes: float | None = None
    """Weights, gradients and optimiser a parameter; None = the method's usual."""
    vocabulary_bytes: float = 2.0
    """Bytes a weight of the vocabulary matrices beside quantised layers (some tools keep 4)."""
    weight_bytes: float | None = None
    """Weight file size where published."""

    @property
    def adapters(self) -> bool:
        return self.method in ("lora", "qlora")

    @property
    def bytes_a_weight(self) -> float:
        """Of a frozen linear weight as it lies on the card."""
        if self.method == "qlora" or self.weight_bits < 16:
            return self.weight_bits / 8 if self.weight_bits > 4.5 else NF4
        return 2.0

    @property
    def frozen_bytes(self) -> float:
        """The whole model as stored: quantised layers, 16-bit vocabulary matrices."""
        if self.weight_bytes is not None:
            return self.weight_bytes
        model = self.model
        linear = model.layer_params * model.layers
        outside = self.vocabulary_bytes if self.bytes_a_weight < 2.0 else 2.0
        return linear * self.bytes_a_weight + (model.params - linear) * outside


def step(
    job: Job, plan: Plan, hw: Hardware, stack: Stack, k: Values, micro_batches: float | None = None
) -> StepParts:
    """Time of one step, in seconds, of `micro_batches` on each data rank (`plan.accumulation`
    where not said; a part is a smaller last one)."""
    model = job.model
    t, p, cp = plan.tensor, plan.pipeline, plan.context
    tokens = plan.micro_batch * job.seq / cp
    width = model.hidden / t
    fill = tokens / (tokens + k["fill_tokens.all"]) * width / (width + k["fill_width.all"])
    eight = max(hw.matrix, hw.matrix8 * stack.fp8)
    rate = (eight if job.fp8 else hw.matrix) * fill
    stream = hw.bandwidth * hw.memory_share

    weights_pass = 1.0 if job.adapters else 2.0
    again = {"full": 1.0, "selective": stack.selective}.get(plan.recompute, 0.0)
    forward = 2.0 * model.layer_active * tokens / t / rate
    attention = 2.0 * job.seq * model.hidden * tokens / t / (hw.attention_peak * stack.attention)
    split = 1.0 / t if plan.sequence_parallel or t == 1 else (10.0 + 24.0 / t) / 34.0
    touched = (stack.traffic + (stack.adapter if job.adapters else 0.0)) * model.hidden * tokens
    moved = touched * split / stream
    compute = forward * (1.0 + weights_pass + again) + attention * (
        1.0 + BACKWARD_ATTENTION + again
    )
    scored = stack.scores * model.heads / t * job.seq * tokens / stream
    memory = (moved + scored) * (1.0 + 2.0 + again)
    passes = 2.0 + (0.0 if job.adapters else 0.5) + again
    if job.weight_bits < 16:
        memory += model.layer_params / t * stack.dequantise * (2.0 + again) / stream
    work = compute + memory
    launch = stack.launch + (stack.launch_packed if job.weight_bits < 16 else 0.0)
    floor = launch * passes + (stack.shard_launch if plan.zero == 3 else 0.0)
    layer = (work**3 + floor**3) ** (1.0 / 3.0)
    per_stage = model.layers / p

    head_flops = 2.0 * model.embedding * tokens / t * (2.0 if job.adapters else 3.0)
    head_compute = head_flops / (hw.matrix * fill)
    head_memory = stack.head_bytes * model.vocab * tokens / t / stream
    micro = per_stage * layer + head_compute + head_memory

    tensor, context = _inside(job, plan, hw, tokens, k)
    sharded_in, sharded_net = _shards(job, plan, hw, stack)
    inside = per_stage * tensor
    ring = per_stage * context
    exchange = sharded_in + sharded_net + ring
    overlap = stack.overlap
    busy = micro + inside
    one = max(busy, exchange) + overlap * min(busy, exchange)
    hops = _hops(job, plan, hw, tokens)
    count = float(plan.accumulation) if micro_batches is None else micro_batches
    bubble = (p - 1) / plan.interleave * one
    final_in, final_net = _gradients(job, plan, hw, stack)
    final = (final_in + final_net) * k["exposed_gradients.all"]
    trained = _trained(job) / (t * p)
    owners = plan.data if plan.zero >= 1 else 1
    optimiser = trained / owners * ADAM_BYTES / stream
    if plan.offload:
        optimiser += 2.0 * job.frozen_bytes / (plan.data * t * p) * count / hw.pcie
    total = count * (one + hops) + bubble + final + optimiser
    nodes = plan.cards / hw.node
    if nodes > 1:
        total *= 1.0 + k["straggle.all"] * log2(nodes)
    nodes_in = count * (inside + sharded_in + ring) + final_in
    nodes_net = count * (sharded_net + hops) + final_net
    scale = count
    return StepParts(
        compute=scale * (per_stage * compute + head_compute),
        memory=scale * (per_stage * memory + head_memory) + optimiser,
        interconnect=nodes_in,
        network=nodes_net,
        storage=0.0,
        bubble=bubble,
        overhead=scale * per_stage * max(0.0, layer - work),
        total=total,
    )


def _trained(job: Job) -> float:
    """Parameters that have an optimiser state."""
    if not job.adapters:
        return job.model.params
    return adapter_params(job.model, job.rank)


def adapter_params(model: ModelShape, rank: int) -> float:
    """Adapters on all linear layers of a block: rank x (inputs + outputs), about 18 x h a layer
    (q, k, v, o: 2h each; gate, up, down: 3.7h each)."""
    return rank * 18.0 * model.hidden * model.layers


def _group(hw: Hardware, cards: int, before: int) -> tuple[int, int]:
    """A group of `cards` ranks that are `before` apart: its size and how many share a node."""
    return cards, max(1, min(cards, hw.node // before)) if before <= hw.node else 1


def _inside(job: Job, plan: Plan, hw: Hardware, tokens: float, k: Values) -> tuple[float, float]:
    """Seconds a layer and micro-batch of tensor-parallel sums, and of passing keys and values."""
    t, cp = plan.tensor, plan.context
    tensor = 0.0
    if t > 1:
        size, here = _group(hw, t, 1)
        sums = 4.0 + (2.0 if plan.recompute == "full" else 0.0)
        volume = 2.0 * (t - 1) / t * tokens * job.model.hidden * 2.0
        lag = hw.latency if size <= here else hw.network_latency
        tensor = sums * (volume / hw.bus(size, here) + lag) * k["exposed_tensor.all"]
    context = 0.0
    if cp > 1:
        size, here = _group(hw, cp, t)
        ratio = job.model.kv_heads / job.model.heads
        volume = 3.0 * (cp - 1) * tokens * job.model.hidden * ratio * 2.0 * 2.0 / t
        context = volume / hw.bus(size, here)
    return tensor, context


def _shards(job: Job, plan: Plan, hw: Hardware, stack: Stack) -> tuple[float, float]:
    """Seconds a micro-batch of gathering and scattering sharded parameters: inside, between."""
    d = plan.sharers
    if d == 1 or plan.zero < 2:
        return 0.0, 0.0
    size, here = _group(hw, d, plan.tensor)
    part = (d - 1) / d / (plan.tensor * plan.pipeline)
    gathers = 0.0
    if plan.zero == 3:
        gathers = 2.0 * (job.frozen_bytes if job.adapters else 2.0 * job.model.params)
    elif stack.klass != "megatron":
        gathers = 2.0 * job.model.params / plan.accumulation
    scatter = 0.0 if job.adapters else stack.reduce_bytes * job.model.params
    volume = (gathers + scatter) * part
    if size <= here:
        return volume / hw.bus(size, here), 0.0
    one_wire = hw.bus(size, 1)
    return 0.0, volume / max(stack.shard_network * hw.bus(size, here), one_wire)


def _gradients(job: Job, plan: Plan, hw: Hardware, stack: Stack) -> tuple[float, float]:
    """Seconds a step of summing gradients over ranks that hold the same parameters: inside a
    node, between nodes."""
    sharded = plan.zero >= 2
    d = plan.data // plan.sharers if sharded else plan.data * plan.context
    if d == 1:
        return 0.0, 0.0
    before = plan.tensor * (plan.sharers if sharded else 1)
    size, here = _group(hw, d, before)
    volume = (stack.reduce_bytes + 2.0) * _trained(job) / (before * plan.pipeline)
    seconds = volume * (d - 1) / d / hw.bus(size, here)
    return (seconds, 0.0) if size <= here else (0.0, seconds)


def _hops(job: Job, plan: Plan, hw: Hardware, tokens: float) -> float:
    """Seconds a micro-batch of passing activations between pipeline stages."""
    if plan.pipeline == 1:
        return 0.0
    volume = 2.0 * plan.interleave * tokens * job.model.hidden * 2.0 / plan.tensor
    wire = hw.link if plan.cards <= hw.node else hw.network / hw.node
    return volume / wire
