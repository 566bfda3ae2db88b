"""A plan as the tools that run it read it: DeepSpeed JSON, an accelerate FSDP file, Megatron
arguments. What a tool cannot express is left out and said in `missing`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from governance.kernel.reasons import N_, Reason

from .shapes import Package, RequestSpec


def deepspeed(request: RequestSpec, package: Package) -> str:
    """`ds_config.json`: ZeRO stage, micro-batch, accumulation, precision, offload."""
    plan = package.plan
    stage: dict[str, Any] = {"stage": plan.zero}
    if plan.zero:
        stage |= {"overlap_comm": True, "contiguous_gradients": True}
    if plan.zero == 3:
        stage |= {
            "stage3_prefetch_bucket_size": 50_000_000,
            "stage3_gather_16bit_weights_on_model_save": True,
        }
    if plan.shard:
        stage["zero_hpz_partition_size"] = plan.shard
    if plan.offload:
        stage["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
        if plan.zero == 3:
            stage["offload_param"] = {"device": "cpu", "pin_memory": True}
    config: dict[str, Any] = {
        "train_batch_size": plan.micro_batch * plan.accumulation * plan.data,
        "train_micro_batch_size_per_gpu": plan.micro_batch,
        "gradient_accumulation_steps": plan.accumulation,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": request.precision in ("bf16", "fp8")},
        "fp16": {"enabled": request.precision == "fp16"},
        "zero_optimization": stage,
    }
    if plan.recompute == "full":
        config["activation_checkpointing"] = {"partition_activations": plan.tensor > 1}
    return json.dumps(config, indent=2) + "\n"


def accelerate_fsdp(request: RequestSpec, package: Package) -> str:
    """`fsdp.yaml` for `accelerate launch --config_file`."""
    plan = package.plan
    whole = "HYBRID_SHARD" if plan.shard else "FULL_SHARD"
    strategy = {3: whole, 2: "SHARD_GRAD_OP"}.get(plan.zero, "NO_SHARD")
    config = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "FSDP",
        "mixed_precision": request.precision if request.precision != "int8" else "bf16",
        "num_machines": package.nodes,
        "num_processes": package.count,
        "machine_rank": 0,
        "main_training_function": "main",
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
        "downcast_bf16": "no",
        "fsdp_config": {
            "fsdp_version": 1,
            "fsdp_sharding_strategy": strategy,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_backward_prefetch": "BACKWARD_PRE",
            "fsdp_forward_prefetch": False,
            "fsdp_offload_params": plan.offload,
            "fsdp_activation_checkpointing": plan.recompute == "full",
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_use_orig_params": True,
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_sync_module_states": True,
        },
    }
    return yaml.safe_dump(config, sort_keys=False)


def megatron(request: RequestSpec, package: Package) -> str:
    """Arguments for Megatron-LM's `pretrain_*.py`, one a line."""
    plan = package.plan
    lines = [
        f"--tensor-model-parallel-size {plan.tensor}",
        f"--pipeline-model-parallel-size {plan.pipeline}",
        f"--context-parallel-size {plan.context}",
        f"--micro-batch-size {plan.micro_batch}",
        f"--global-batch-size {plan.micro_batch * plan.accumulation * plan.data}",
        f"--seq-length {request.seq_len}",
        f"--max-position-embeddings {request.seq_len}",
        "--fp16" if request.precision == "fp16" else "--bf16",
    ]
    if request.precision == "fp8":
        lines.append("--fp8-format hybrid")
    if plan.zero >= 1:
        lines.append("--use-distributed-optimizer")
        lines.append("--overlap-grad-reduce")
    if plan.sequence_parallel:
        lines.append("--sequence-parallel")
    if plan.interleave > 1:
        lines.append(f"--num-virtual-stages-per-pipeline-rank {plan.interleave}")
    if plan.recompute == "full":
        lines += [
            "--recompute-granularity full",
            "--recompute-method uniform",
            "--recompute-num-layers 1",
        ]
    elif plan.recompute == "selective":
        lines.append("--recompute-granularity selective")
    return "\n".join(lines) + "\n"


FORMATS: dict[str, tuple[str, str, Callable[[RequestSpec, Package], str]]] = {
    "deepspeed": ("ds_config.json", "application/json", deepspeed),
    "accelerate": ("fsdp.yaml", "application/yaml", accelerate_fsdp),
    "megatron": ("megatron.args", "text/plain", megatron),
}
"""Name -> file name, media type, writer."""


def missing(name: str, package: Package) -> tuple[Reason, ...]:
    """What of the plan the tool's file cannot say."""
    plan = package.plan
    split = plan.tensor > 1 or plan.pipeline > 1 or plan.context > 1
    found = []
    if name in ("deepspeed", "accelerate") and split:
        found.append(
            Reason(
                "no_split",
                N_("This file has no place for tensor or pipeline splits: use Megatron's."),
            )
        )
    if name == "megatron" and plan.zero >= 2:
        found.append(Reason("no_zero3", N_("Megatron splits only the optimiser over data ranks.")))
    if name == "megatron" and plan.quantised:
        found.append(Reason("no_packed", N_("Megatron does not train on 4-bit weights.")))
    return tuple(found)


def usual(package: Package) -> str:
    """The tool that expresses the whole plan."""
    plan = package.plan
    if plan.tensor > 1 or plan.pipeline > 1 or plan.context > 1:
        return "megatron"
    return "deepspeed"
