"""Ways to lay a job over cards: the few that can win, cheapest to try first."""

from __future__ import annotations

from collections.abc import Iterator

from .constants import Values
from .hardware import Hardware
from .memory import claimed, training_memory
from .shapes import MemoryParts, Plan, StepParts
from .stacks import Stack
from .training import Job, step

MICRO_BATCHES = (1, 2, 4, 8, 16)


def candidates(job: Job, cards: int, hw: Hardware, sequences: int | None) -> Iterator[Plan]:
    """Plans for `cards` cards and a global batch of `sequences` (None: as many as fit, one
    micro-batch a data rank). Tensor parallelism stays inside a node; pipelines divide layers."""
    for tensor in (1, 2, 4, 8):
        if tensor > hw.node or cards % tensor:
            continue
        for pipeline in _pipelines(job, cards // tensor, tensor, hw):
            data = cards // (tensor * pipeline)
            for zero in _stages(job, data, tensor * pipeline):
                yield from _batches(job, data, tensor, pipeline, zero, sequences)


def _pipelines(job: Job, rest: int, tensor: int, hw: Hardware) -> Iterator[int]:
    yield 1
    if job.adapters or (tensor < min(4, hw.node) and rest > 1 and hw.node > 1):
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


def _batches(
    job: Job, data: int, tensor: int, pipeline: int, zero: int, sequences: int | None
) -> Iterator[Plan]:
    share = max(1, -(-sequences // data)) if sequences else None
    for micro in MICRO_BATCHES:
        if share is not None and micro > share:
            return
        count = -(-share // micro) if share is not None else 4 * pipeline
        if pipeline > 1 and count < pipeline:
            return
        for recompute in ("none", "full"):
            yield Plan(
                data=data,
                tensor=tensor,
                pipeline=pipeline,
                zero=zero,
                micro_batch=micro,
                accumulation=count,
                recompute=recompute,
                quantised=job.weight_bits < 16,
                sequence_parallel=tensor > 1,
            )


def fastest(
    job: Job,
    cards: int,
    hw: Hardware,
    stack: Stack,
    k: Values,
    sequences: int | None = None,
    usable: float = 0.92,
    recompute: str = "auto",
) -> tuple[Plan, StepParts, MemoryParts] | None:
    """The plan with most tokens a second among those that fit into `usable` of the shown memory;
    None where none fits."""
    found: tuple[float, Plan, StepParts, MemoryParts] | None = None
    for plan in candidates(job, cards, hw, sequences):
        if recompute != "auto" and plan.recompute != recompute:
            continue
        memory = training_memory(job, plan, hw, stack, k)
        if claimed(memory, stack) > usable * hw.memory:
            continue
        parts = step(job, plan, hw, stack, k)
        tokens = plan.micro_batch * plan.accumulation * plan.data * job.seq
        rate = tokens / parts.total
        if found is None or rate > found[0]:
            found = (rate, plan, parts, memory)
    return None if found is None else found[1:]
