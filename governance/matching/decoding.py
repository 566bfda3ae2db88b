"""Seconds of one decoded token and of a prompt: the roofline of weights and cache.

t = (weights + cache x batch) / (tensor x bandwidth x share) + layers x (launch + 2 sums)."""

from __future__ import annotations

from dataclasses import dataclass

from .constants import Values, pick
from .hardware import Hardware
from .model import ModelShape
from .shapes import StepParts
from .stacks import SERVING_CLASS


@dataclass(frozen=True, slots=True)
class Serving:
    """One replica: `batch` sequences at `context` tokens, over `tensor` cards; `split` cards that
    hold layers one after another (no speed-up)."""

    model: ModelShape
    batch: float = 1.0
    context: float = 512.0
    tensor: int = 1
    split: int = 1
    weight_bits: float = 16.0
    weight_bytes: float | None = None
    engine: str = "vllm"

    @property
    def stored(self) -> float:
        """Bytes of the weights on all cards."""
        if self.weight_bytes is not None:
            return self.weight_bytes
        model = self.model
        linear = model.layer_params * model.layers
        outside = (model.params - linear) * max(2.0 if self.weight_bits < 16 else 0.0, 2.0)
        return linear * self.weight_bits / 8 + outside

    @property
    def read(self) -> float:
        """Bytes that one step reads of them: all but the input vocabulary matrix; of experts
        those that the batch touches."""
        model = self.model
        share = 1.0
        if model.active < model.params:
            untouched = (1.0 - model.active / model.params) ** max(1.0, self.batch)
            share = 1.0 - untouched
        whole = self.stored
        lookup = 0.0 if model.tied else 2.0 * model.embedding
        return max(whole - lookup, 0.5 * whole) * share


def decode_step(job: Serving, hw: Hardware, k: Values) -> StepParts:
    """Seconds of one step that gives `batch` tokens."""
    name = job.engine.lower()
    klass = SERVING_CLASS.get(name, "server")
    kind = "gddr" if hw.gddr else "hbm"
    share = pick(k, "decode", f"{klass}.{kind}", kind)
    if hw.maker not in ("NVIDIA",):
        share *= k["decode_port.all"]
    stream = hw.bandwidth * share
    weights = job.read / job.tensor / stream
    if job.weight_bits < 15:
        weights /= pick(k, "unpack", klass, "other")
    cache = job.model.kv_bytes * job.batch * job.context / job.tensor / stream
    flops = 2.0 * job.model.multiplied * job.batch / job.tensor
    fill = job.batch / (job.batch + k["fill_batch.all"]) if job.batch > 1 else 1.0
    compute = flops / (hw.matrix * max(fill, 1e-3)) if job.batch > 1 else 0.0
    launch = job.model.layers * pick(k, "decode_launch", klass, "other")
    sums = 0.0
    if job.tensor > 1:
        volume = 2.0 * job.batch * job.model.hidden * 2.0 * (job.tensor - 1) / job.tensor
        here = min(job.tensor, hw.node)
        lag = hw.latency if job.tensor <= hw.node else hw.network_latency
        sums = 2.0 * job.model.layers * (lag + volume / hw.bus(job.tensor, here))
    hops = (job.split - 1) * k["decode_hop.all"]
    host = job.batch * pick(k, "decode_host", klass, "other")
    memory = weights + cache
    total = max(memory, compute) + 0.2 * min(memory, compute) + launch + sums + hops + host
    inside, outside = (sums, 0.0) if job.tensor <= hw.node else (0.0, sums)
    return StepParts(
        compute=compute,
        memory=memory,
        interconnect=inside,
        network=outside,
        storage=0.0,
        bubble=0.0,
        overhead=launch + hops + host,
        total=total,
    )


def prefill(job: Serving, hw: Hardware, prompt: float, k: Values) -> float:
    """Seconds to read `batch` prompts of `prompt` tokens: compute-bound beyond the ridge."""
    tokens = job.batch * prompt
    if tokens <= 0:
        return 0.0
    fill = tokens / (tokens + k["fill_tokens.all"])
    linear = 2.0 * job.model.multiplied * tokens / job.tensor
    square = 2.0 * prompt * job.model.hidden * job.model.layers * tokens / job.tensor
    work = (linear + square / k["attention.compiled"]) / (hw.matrix * fill)
    stream = hw.bandwidth * pick(k, "decode", "gddr" if hw.gddr else "hbm", "hbm")
    sums = 0.0
    if job.tensor > 1:
        volume = 2.0 * tokens * job.model.hidden * 2.0
        here = min(job.tensor, hw.node)
        sums = 2.0 * job.model.layers * volume / hw.bus(job.tensor, here)
    return max(work, job.read / job.tensor / stream) + sums
