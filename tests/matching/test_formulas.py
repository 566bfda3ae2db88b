"""Formulas against their papers."""

from __future__ import annotations

import dataclasses

import pytest

from governance.catalog.domain import load_cards, load_presets
from governance.matching.constants import values
from governance.matching.egress import answers_mbit, streams_mbit
from governance.matching.hardware import hardware
from governance.matching.memory import activations, training_memory
from governance.matching.model import ModelShape, of_preset, shape
from governance.matching.shapes import Plan
from governance.matching.stacks import training_stack
from governance.matching.training import Job, step

K = values()
GIB = float(1 << 30)
A100 = hardware(load_cards()["a100-80gb-sxm4"], k=K)
MEGATRON = dataclasses.replace(
    training_stack("megatron", "", "Ampere", K), stored=34.0, states=18.0
)


def gpt(layers: int, hidden: int, params: float) -> ModelShape:
    heads = {6144: 64, 12288: 96, 20480: 128, 25600: 160}[hidden]
    return shape(params=params, layers=layers, hidden=hidden, heads=heads)


@pytest.mark.parametrize(
    ("layers", "hidden", "params", "pipeline", "interleave", "micro", "recompute", "sp", "gib"),
    [
        (48, 6144, 22e9, 1, 1, 4, "none_unfused", False, 59.25),
        (96, 12288, 175e9, 8, 3, 1, "none_unfused", False, 66.84375),
        (105, 20480, 530e9, 35, 3, 1, "none_unfused", False, 114.0234375),
        (128, 25600, 1008e9, 64, 1, 1, "none", True, 26.5625),
    ],
)
def test_activations_of_korthikanti_figure_1(
    layers: int,
    hidden: int,
    params: float,
    pipeline: int,
    interleave: int,
    micro: int,
    recompute: str,
    sp: bool,
    gib: float,
) -> None:
    """arXiv:2205.05198, figure 1 (analytic there as well): sbh(10 + 24/t + 5as/(ht)) and 34/t."""
    model = gpt(layers, hidden, params)
    plan = Plan(
        tensor=8,
        pipeline=pipeline,
        interleave=interleave,
        micro_batch=micro,
        accumulation=pipeline,
        recompute=recompute,
        sequence_parallel=sp,
    )
    found = activations(Job(model, "pretrain", 2048), plan, MEGATRON)
    assert found / GIB == pytest.approx(gib, rel=0.03)


@pytest.mark.parametrize(
    ("zero", "factor"), [(0, 18.0), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)]
)
def test_states_by_zero_stage(zero: int, factor: float) -> None:
    """arXiv:1910.02054 with 32-bit gradients: 18, 6 + 12/d, 2 + 16/d, 18/d bytes a parameter."""
    model = of_preset(load_presets()["llama-2-7b"])
    plan = Plan(data=8, zero=zero)
    parts = training_memory(Job(model, "pretrain", 2048), plan, A100, MEGATRON, K)
    held = parts.weights + parts.gradients + parts.optimiser
    assert held / model.params == pytest.approx(factor)


def test_rule_of_thumb_of_hardware_requirements() -> None:
    """Full 18 x, LoRA 2 x and more, 4-bit x / 2 and more, in GB a billion parameters."""
    model = of_preset(load_presets()["llama-2-7b"])
    stack = training_stack("llama-factory", "", "Ampere", K)
    plan = Plan(recompute="full")
    for method, bits, gigabytes in (("full", 16, 120), ("lora", 16, 16), ("qlora", 4, 6)):
        job = Job(model, method, 512, rank=8, weight_bits=bits, state_bytes=18.0)
        parts = training_memory(job, plan, A100, stack, K)
        assert parts.total / 1e9 == pytest.approx(gigabytes, rel=0.35), method


def test_gpt3_on_1024_cards_takes_34_days() -> None:
    """arXiv:2104.04473: 8TP/(nX) for 300 B tokens on 1,024 cards."""
    model = shape(params=174.6e9, layers=96, hidden=12288)
    plan = Plan(data=11, tensor=8, pipeline=12, micro_batch=1, accumulation=140, recompute="full")
    seconds = step(Job(model, "pretrain", 2048), plan, A100, MEGATRON, K).total
    days = 300e9 / (11 * 140 * 2048) * seconds / 86400
    assert days == pytest.approx(34, rel=0.15)


def test_adapters_compute_two_thirds() -> None:
    model = of_preset(load_presets()["llama-2-70b"])
    plan = Plan(data=8, zero=3, micro_batch=4)
    full, lora = (
        step(Job(model, method, 2048), plan, A100, MEGATRON, K).compute
        for method in ("full", "lora")
    )
    assert lora / full == pytest.approx(2 / 3, rel=0.06)


def test_egress_has_a_time_in_it() -> None:
    assert answers_mbit(20, 500, 1, 1.5) == pytest.approx(120)
    assert answers_mbit(20, 500, 2, 1.5) == pytest.approx(60)
    assert streams_mbit(500, 30, 200, 1.5) == pytest.approx(36)
    with pytest.raises(ValueError, match="delivery"):
        answers_mbit(20, 500, 0, 1.5)


@pytest.mark.parametrize(
    ("slug", "cards", "gbs", "rel"),
    [
        ("a100-80gb-sxm4", 8, 234, 0.05),
        ("a800-80gb-sxm4", 8, 156, 0.05),
        ("ascend-910b3", 8, 126, 0.05),
        ("ascend-910b3", 2, 18, 0.05),
        ("h100-80gb-sxm5", 8, 360, 0.05),
        ("rtx-4090", 8, 13, 0.4),
    ],
)
def test_measured_bus_bandwidths(slug: str, cards: int, gbs: float, rel: float) -> None:
    hw = hardware(load_cards()[slug], k=K)
    assert hw.bus(cards, cards) / 1e9 == pytest.approx(gbs, rel=rel)


def test_a_group_gets_its_part_of_the_nodes_network() -> None:
    hw = hardware(load_cards()["a100-80gb-sxm4"], k=K, network=200e9)
    assert hw.bus(16, 8) == pytest.approx(8 * hw.bus(16, 1))


def test_a_mesh_of_few_cards_uses_few_links() -> None:
    hw = hardware(load_cards()["ascend-910b3"], k=K)
    assert hw.bus(2, 2) < hw.bus(4, 4) < hw.bus(8, 8)
