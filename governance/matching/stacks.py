"""Software stacks: what an engine costs beside the arithmetic. An engine that is not known takes
the constants of its class; a class that is not known those of `eager`."""

from __future__ import annotations

from dataclasses import dataclass

from .constants import Values, pick

ENGINE_CLASS = {
    "megatron": "megatron",
    "megatron-lm": "megatron",
    "megatron-deepspeed": "megatron",
    "megatron-modern": "megatron",
    "meta-megatron-like": "megatron",
    "meta-run": "megatron",
    "nemo": "megatron",
    "modellink": "megatron",
    "mindspeed": "megatron",
    "colossalai": "megatron",
    "llm-foundry": "fsdp",
    "fsdp": "fsdp",
    "composer": "fsdp",
    "nanotron": "megatron",
    "torchtitan": "fsdp",
    "metaseq": "fsdp",
    "fairscale": "fsdp",
    "pytorch-fsdp": "fsdp",
    "accelerate": "eager",
    "trl": "eager",
    "torchtune": "compiled",
    "gpt-fast": "compiled",
    "litgpt": "eager",
    "lit-gpt": "eager",
    "hf": "eager",
    "hf-deepspeed": "eager",
    "deepspeed": "eager",
    "transformers": "eager",
    "llama-factory": "eager",
    "axolotl": "eager",
    "fsdp_qlora": "eager",
    "unsloth": "compiled",
}
UNFUSED = ("megatron", "megatron-lm", "megatron-deepspeed")
"""Engines whose published runs date from before fused attention."""
SERVING_CLASS = {
    "llama.cpp": "llamacpp",
    "ollama": "llamacpp",
    "koboldcpp": "llamacpp",
    "gpt-fast": "graph",
    "exllama": "graph",
    "exllamav2": "graph",
    "mlc": "graph",
    "mlc-llm": "graph",
    "turbomind": "server",
    "lmdeploy": "server",
    "vllm": "server",
    "sglang": "server",
    "tensorrt-llm": "server",
    "trt-llm": "server",
    "tgi": "server",
    "hf": "eager",
    "transformers": "eager",
}
GIVEN = {"hf": "eager", "fa1": "fsdp", "compiled": "compiled"}
"""What the `stack` key of a measured row means."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Training constants of one engine."""

    engine: str
    klass: str
    launch: float
    """Seconds a layer and pass take at least."""
    traffic: float
    """Bytes of element-wise traffic a token, layer and unit of width, forward."""
    attention: float
    """Share of the sustained matrix rate that the attention kernel reaches (causal FLOPs)."""
    head_bytes: float
    """Bytes of traffic a token and vocabulary entry, whole step."""
    stored: float
    """Bytes of stored activations a token, layer and unit of width without recompute."""
    logits: float
    """Bytes kept a token and vocabulary entry."""
    logits_packed: float
    """The same beside packed weights."""
    adapter: float
    """Extra element-wise traffic of adapters, as `traffic`."""
    dequantise: float
    """Bytes of traffic a weight and pass that 4-bit weights cost."""
    shard_launch: float
    """Extra seconds a layer and micro-batch that sharded parameters cost."""
    launch_packed: float
    """Extra seconds a layer and pass of kernels for packed weights."""
    scores: float
    """Bytes of traffic a head, token and key position where scores are written to memory."""
    shard_network: float
    """Share of the node's network that gathers of sharded parameters reach, at least one wire."""
    selective: float
    """Part of the forward pass that selective recompute repeats."""
    fp8: float
    """Share of the sustained 8-bit rate that scaling and casts leave."""
    states: float
    """Bytes a trained parameter where not stated: weights, gradients, optimiser."""
    overlap: float
    """Part of the shorter of two overlapping activities that still costs time."""
    vocabulary_bytes: float
    """Bytes a weight of the vocabulary matrices beside quantised layers."""
    reduce_bytes: float
    """Bytes a gradient travels as."""
    fragment: float
    """Reserved / allocated memory."""
    context: float
    """Bytes that the runtime itself holds on a card."""


def training_stack(engine: str, given: str, arch: str, k: Values) -> Stack:
    """The stack of `engine` ('' = not said), overridden by the row's own `stack` key."""
    name = engine.lower().strip()
    klass = GIVEN.get(given) or ENGINE_CLASS.get(name) or "eager"

    def of(family: str) -> float:
        return pick(k, family, name, klass, "eager")

    return Stack(
        engine=name,
        klass=klass,
        launch=of("launch"),
        traffic=of("traffic"),
        attention=pick(k, "attention", f"{given}.{arch}", given, name, klass, "eager"),
        head_bytes=of("head"),
        stored=of("stored"),
        logits=of("logits"),
        logits_packed=of("logits_packed"),
        adapter=of("adapter"),
        dequantise=of("dequantise"),
        shard_launch=of("shard_launch"),
        launch_packed=of("launch_packed"),
        scores=k["scores.unfused"] if name in UNFUSED else of("scores"),
        shard_network=pick(k, "shard_network", f"{klass}.{arch}", name, klass, "eager"),
        selective=of("selective"),
        fp8=of("fp8"),
        states=of("states"),
        overlap=of("overlap"),
        vocabulary_bytes=of("vocabulary"),
        reduce_bytes=of("reduce"),
        fragment=of("fragment"),
        context=of("context"),
    )
