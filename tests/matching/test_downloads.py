"""Plans as files: each says the plan that was ranked, and only what its tool knows."""

from __future__ import annotations

import dataclasses
import json
import re
from decimal import Decimal

import pytest
import yaml

from governance.catalog.domain import OfferView, TermPrice, load_cards
from governance.matching import Package, RequestSpec, match
from governance.matching.downloads import FORMATS, missing, usual

DEEPSPEED = {
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "gradient_clipping",
    "bf16",
    "fp16",
    "zero_optimization",
    "activation_checkpointing",
}
LORA = RequestSpec(preset="llama-2-70b", method="lora", tokens=1e8, global_batch=64)
PRETRAIN = RequestSpec(preset="llama-3-70b", method="pretrain", tokens=1e10)


def packaged(request: RequestSpec, count: int = 8) -> Package:
    offer = OfferView(
        id="x",
        vendor="v",
        region="cn",
        card=load_cards()["h100-80gb-sxm5"],
        min_units=count,
        max_cards=count,
        network_bytes_per_s=400e9,
        prices=(TermPrice("hourly", Decimal(20), "CNY"),),
    )
    return match(dataclasses.replace(request, max_cards=count), [offer]).packages[0]


@pytest.mark.parametrize(("asked", "count"), [(LORA, 8), (PRETRAIN, 64)])
def test_batches_multiply_out(asked: RequestSpec, count: int) -> None:
    package = packaged(asked, count)
    plan = package.plan
    config = json.loads(FORMATS["deepspeed"][2](asked, package))
    assert set(config) <= DEEPSPEED
    whole = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    assert config["train_batch_size"] == whole * plan.data
    assert config["zero_optimization"]["stage"] == plan.zero
    assert config["bf16"]["enabled"] is not config["fp16"]["enabled"]


def test_sharded_plans_go_to_fsdp() -> None:
    package = packaged(LORA)
    assert package.plan.zero == 3
    assert usual(package) == "deepspeed"
    assert not missing("accelerate", package)
    config = yaml.safe_load(FORMATS["accelerate"][2](LORA, package))
    assert config["distributed_type"] == "FSDP"
    assert config["num_processes"] == package.count
    assert config["fsdp_config"]["fsdp_sharding_strategy"] == "FULL_SHARD"
    checkpointing = config["fsdp_config"]["fsdp_activation_checkpointing"]
    assert checkpointing is (package.plan.recompute == "full")


def test_split_plans_go_to_megatron() -> None:
    package = packaged(PRETRAIN, 64)
    plan = package.plan
    assert plan.tensor * plan.pipeline > 1
    assert usual(package) == "megatron"
    assert missing("deepspeed", package)
    text = FORMATS["megatron"][2](PRETRAIN, package)
    values = dict(re.findall(r"--([a-z-]+) (\S+)", text))
    assert int(values["tensor-model-parallel-size"]) == plan.tensor
    assert int(values["pipeline-model-parallel-size"]) == plan.pipeline
    batch = int(values["global-batch-size"])
    assert batch % (int(values["micro-batch-size"]) * plan.data) == 0
    assert package.count == plan.tensor * plan.pipeline * plan.data


def test_shards_stay_inside_nodes_where_that_is_faster() -> None:
    package = packaged(LORA, 32)
    assert package.plan.shard == 8
    config = yaml.safe_load(FORMATS["accelerate"][2](LORA, package))
    assert config["fsdp_config"]["fsdp_sharding_strategy"] == "HYBRID_SHARD"
    zero = json.loads(FORMATS["deepspeed"][2](LORA, package))["zero_optimization"]
    assert zero["zero_hpz_partition_size"] == 8
    assert package.hours < packaged(LORA, 8).hours / 3
