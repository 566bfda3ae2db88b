"""Ways to lay a job over cards: every layout that can win, each with its best micro-batch.

Without a pipeline a larger micro-batch is never slower a token, so only the largest that fits is
timed; with one every size is tried, because fewer micro-batches mean more bubble."""

from __future__ import annotations

from collections.abc import Iterator

from .constants import Values
from .hardware import Hardware
from .memory import RESERVED, training_memory
from .shapes import MemoryParts, Plan, StepParts
from .stacks import Stack
from .training import Job, step

LARGEST_MICRO = 16
USABLE = 0.97
"""Share of the shown memory that a plan may claim."""

Laid = tuple[Plan, StepParts, MemoryParts]


def layouts(job: Job, cards: int, hw: Hardware, stack: Stack, sequences: int) -> Iterator[Plan]:
    """Splits of `cards` cards with a micro-batch of 1: tensor parallelism stays inside a node, a
    pipeline divides the layers, no data rank is without a sequence. Eager and FSDP stacks shard
    parameters and nothing else."""
    splits = (1,) if stack.klass in ("eager", "fsdp") else (1, 2, 4, 8)
    for tensor in splits:
        if tensor > min(hw.node, cards) or cards % tensor:
            continue
        for pipeline in _pipelines(job, cards // tensor, tensor, hw, stack):
            data = cards // (tensor * pipeline)
            if data > sequences:
                continue
            for zero in _stages(job, data, tensor * pipeline):
                for shard in _groups(zero, data, hw):
                    yield Plan(
                        data=data,
                        tensor=tensor,
                        pipeline=pipeline,
                        zero=zero,
                        shard=shard,
                        quantised=job.weight_bits < 16,
                        sequence_parallel=tensor > 1,
                    )


def _groups(zero: int, data: int, hw: Hardware) -> tuple[int, ...]:
    """Shard over all ranks, or inside each node and replicate between nodes."""
    if zero == 3 and data > hw.node > 1 and data % hw.node == 0:
        return (0, hw.node)
    return (0,)


def _pipelines(job: Job, rest: int, tensor: int, hw: Hardware, stack: Stack) -> Iterator[int]:
    yield 1
    if stack.klass != "megatron" or rest == 1 or tensor < min(4, hw.node):
        return
    for depth in (2, 4, 8, 16, 32, 64):
        if rest % depth == 0 and job.model.layers >= depth:
            yield depth


def _stages(job: Job, data: int, ranks: int) -> tuple[int, ...]:
    if data == 1:
        return (0,)
    if ranks > 1:
        return (1,)
    return (0, 3) if job.adapters else (1, 3)


def fastest(
    job: Job,
    cards: int,
    hw: Hardware,
    stack: Stack,
    k: Values,
    sequences: int | None = None,
    recompute: str = "auto",
) -> Laid | None:
    """The plan with the shortest step for a global batch of `sequences` (None: eight a card)
    among those that fit; None where none does."""
    batch = sequences or 8 * cards
    limit = (USABLE * hw.memory - stack.context) / RESERVED
    found: Laid | None = None
    for base in layouts(job, cards, hw, stack, batch):
        for plan in _sized(job, base, hw, stack, k, batch, limit, recompute):
            parts = step(job, plan, hw, stack, k, -(-batch // plan.data) / plan.micro_batch)
            if found is None or parts.total < found[1].total:
                memory = training_memory(job, plan, hw, stack, k)
                found = (plan, parts, memory)
    return found


def _sized(
    job: Job,
    base: Plan,
    hw: Hardware,
    stack: Stack,
    k: Values,
    batch: int,
    limit: float,
    recompute: str,
) -> Iterator[Plan]:
    share = -(-batch // base.data)
    for mode in ("none", "full") if recompute == "auto" else (recompute,):
        plan = _varied(base, mode, 1, base.pipeline)
        memory = training_memory(job, plan, hw, stack, k)
        each = memory.activations + memory.logits
        largest = int((limit - memory.total + each) / each)
        if largest < 1:
            continue
        largest = 1 << min(largest, share, LARGEST_MICRO).bit_length() - 1
        sizes = [largest]
        while base.pipeline > 1 and sizes[-1] > 1:
            sizes.append(sizes[-1] // 2)
        for micro in sizes:
            count = -(-share // micro)
            if count >= base.pipeline:
                yield _varied(base, mode, micro, count)
        if largest * 2 > min(share, LARGEST_MICRO):
            return


def _varied(base: Plan, recompute: str, micro_batch: int, accumulation: int) -> Plan:
    """The layout with its batch; written out because `replace` costs a third of the ranking."""
    return Plan(
        data=base.data,
        tensor=base.tensor,
        pipeline=base.pipeline,
        context=base.context,
        interleave=base.interleave,
        zero=base.zero,
        shard=base.shard,
        micro_batch=micro_batch,
        accumulation=accumulation,
        recompute=recompute,
        offload=base.offload,
        quantised=base.quantised,
        sequence_parallel=base.sequence_parallel,
    )


def least_memory(job: Job, cards: int, hw: Hardware, stack: Stack, k: Values) -> float:
    """Bytes a card needs with the thriftiest layout of `cards` cards."""
    needs = []
    for base in layouts(job, cards, hw, stack, cards):
        plan = _varied(base, "full", 1, 1)
        memory = training_memory(job, plan, hw, stack, k)
        needs.append(memory.total * RESERVED + stack.context)
    return min(needs)
