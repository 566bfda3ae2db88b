"""Bytes on the fullest card.

Sources: states by ZeRO stage (arXiv:1910.02054), activations (arXiv:2205.05198 eq. 1-6),
4-bit weights with double quantisation 4.127 bit (arXiv:2305.14314)."""

from __future__ import annotations

from .constants import Values
from .hardware import Hardware
from .model import ModelShape
from .shapes import MemoryParts, Plan
from .stacks import Stack
from .training import Job, adapter_params

MIXED_STATES = 18.0
"""From here on gradients are summed in 32 bit: weights 2, gradients 4, the rest 12."""
ADAPTER_STATES = 16.0
USUAL_BLOCKS = 12.0
"""Weights of a layer over width squared in the models that the published counts stand for."""
NARROW = 0.45
"""Share of a layer's activations that is as wide as the model; the rest is as wide as the
feed-forward part, which a wider feed-forward (more weights a layer) stretches."""
MOST_EXPERT_RANKS = 64
RESERVED = 1.03
"""An allocator holds a little more than it gives out."""


def training_memory(job: Job, plan: Plan, hw: Hardware, stack: Stack, k: Values) -> MemoryParts:
    """Peak memory of a training step on the first pipeline stage, in bytes."""
    weights, gradients, optimiser = _states(job, plan, stack)
    return MemoryParts(
        weights=weights,
        gradients=gradients,
        optimiser=optimiser,
        activations=activations(job, plan, stack),
        logits=_logits(job, plan, stack),
        kv_cache=0.0,
        gathered=_gathered(job, plan, k),
        overhead=0.0,
        usable=hw.memory,
    )


def _states(job: Job, plan: Plan, stack: Stack) -> tuple[float, float, float]:
    ranks = plan.tensor * plan.pipeline
    d = plan.sharers * (plan.context if plan.zero else 1)
    if job.adapters:
        own = adapter_params(job.model, job.rank) / ranks
        shared = plan.sharers if plan.zero == 3 else 1
        held = 0.0 if plan.offload else job.frozen_bytes / ranks / shared
        return held, 2.0 * own / shared, (ADAPTER_STATES - 4.0) * own / shared + 2.0 * own
    params = held_params(job.model, plan) / ranks
    states = job.state_bytes or stack.states
    weight = min(2.0, states)
    gradient = min(states - weight, 4.0 if states >= MIXED_STATES else 2.0)
    rest = states - weight - gradient
    optimiser = rest * params / (d if plan.zero >= 1 else 1)
    if plan.offload:
        optimiser = 0.0
    return (
        weight * params / (d if plan.zero == 3 else 1),
        gradient * params / (d if plan.zero >= 2 else 1),
        optimiser,
    )


def held_params(model: ModelShape, plan: Plan) -> float:
    """Weights of one model replica on one data rank: experts are spread over the data ranks."""
    experts = model.params - model.active
    return model.params - experts + experts / min(plan.data, MOST_EXPERT_RANKS)


def activations(job: Job, plan: Plan, stack: Stack) -> float:
    """What the backward pass needs of the forward one, all layers of the first stage with the
    micro-batches in flight (arXiv:2205.05198, with the interleaving factor 1 + (p-1)/(pv))."""
    t, p, v = plan.tensor, plan.pipeline, plan.interleave
    unit = plan.micro_batch * job.seq / plan.context * job.model.hidden
    blocks = job.model.layer_active / job.model.hidden**2
    stored = stack.stored * (NARROW + (1.0 - NARROW) * blocks / USUAL_BLOCKS)
    split = 1.0 / t if plan.sequence_parallel else (10.0 + 24.0 / t) / 34.0
    scores = 5.0 * job.model.heads * job.seq / job.model.hidden / t
    full = unit * (stored * split + (scores if plan.recompute == "none_unfused" else 0.0))
    in_flight = 1.0 + (p - 1) / (p * v) if v > 1 else 1.0
    flights = min(p, plan.accumulation) / p if p > 1 else 1.0
    layers = job.model.layers * in_flight * flights
    if plan.recompute == "full":
        kept = 2.0 * unit / (t if plan.sequence_parallel else 1.0)
        return layers * kept + full
    return layers * full


def _logits(job: Job, plan: Plan, stack: Stack) -> float:
    if plan.pipeline > 1:
        return 0.0
    kept = stack.logits_packed if job.weight_bits < 16 else stack.logits
    bytes_each = 2.0 if job.chunked_loss else kept
    tokens = plan.micro_batch * job.seq / plan.context
    return bytes_each * tokens * job.model.vocab / plan.tensor


def _gathered(job: Job, plan: Plan, k: Values) -> float:
    if plan.zero != 3 or plan.sharers == 1:
        return 0.0
    layer = job.model.layer_params * job.bytes_a_weight / plan.tensor
    return layer * k["gathered_layers.all"] + 2.0 * job.model.embedding / plan.tensor


def claimed(parts: MemoryParts, stack: Stack) -> float:
    """What the card must have free: allocations with fragmentation, and the runtime's own."""
    return parts.total * RESERVED + stack.context
