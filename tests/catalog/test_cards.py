"""The packaged cards: every figure sourced, the best source used, conflicts shown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from governance.catalog.domain import (
    bandwidth_by_formula,
    best,
    card_for_name,
    in_conflict,
    load_cards,
    load_figures,
    load_presets,
)
from governance.catalog.domain.figures import RANK, UNITS
from governance.catalog.domain.notes import NOTES


def bandwidths(slug: str) -> list[float]:
    return [f.value for f in load_figures()[slug] if f.figure == "bandwidth_gbs"]


def test_every_card_and_figure_has_a_source() -> None:
    assert len(load_cards()) == 54
    for figures in load_figures().values():
        for figure in figures:
            assert figure.source_ref
            assert figure.source_kind in RANK
            assert UNITS[figure.figure] == figure.unit


@pytest.mark.parametrize(
    ("bits", "rate", "expected"),
    [(384, 21.0, 1008.0), (5120, 3.186, 2039.04), (3072, 2.43, 933.12), (5120, 5.234, 3349.76)],
)
def test_bandwidth_formula(bits: float, rate: float, expected: float) -> None:
    assert bandwidth_by_formula(bits, rate) == pytest.approx(expected)


def test_a800_computes_with_the_data_sheet_and_shows_the_claim() -> None:
    card = load_cards()["a800-80gb-sxm4"]
    assert card.bandwidth_bytes_per_s == 2039e9
    assert 933.0 in bandwidths(card.slug)
    figures = [f for f in load_figures()[card.slug] if f.figure == "bandwidth_gbs"]
    assert in_conflict(figures)
    found = best(figures)
    assert found is not None
    assert found.source_kind == "datasheet_copy"


@pytest.mark.parametrize(
    ("slug", "wrong", "right"),
    [
        ("mi300x", 10300.0, 5300e9),
        ("b200-sxm", 4100.0, 8000e9),
        ("v100-sxm2-16-32gb", 1130.0, 900e9),
        ("t4", 400.0, 320e9),
    ],
)
def test_errors_of_public_lists_are_visible_and_unused(
    slug: str, wrong: float, right: float
) -> None:
    assert wrong in bandwidths(slug)
    assert load_cards()[slug].bandwidth_bytes_per_s == right


def test_sources_that_agree_are_no_conflict() -> None:
    for slug in ("rtx-4090", "h100-80gb-sxm5"):
        assert not in_conflict([f for f in load_figures()[slug] if f.figure == "bandwidth_gbs"])


def test_910b_is_provisional() -> None:
    card = card_for_name("Ascend-910B(A2)")
    assert card is not None
    assert card.slug == "ascend-910b3"
    assert not card.bandwidth_confirmed
    assert card.bandwidth_bytes_per_s == 1600e9


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm4"),
        ("NVIDIA H100 80GB HBM3", "h100-80gb-sxm5"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-16-32gb"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("910B4", "ascend-910b4"),
        ("AMD Instinct MI300X", "mi300x"),
    ],
)
def test_driver_names(name: str, slug: str) -> None:
    card = card_for_name(name)
    assert card is not None
    assert card.slug == slug


def test_unknown_name_is_never_guessed() -> None:
    assert card_for_name("NVIDIA GeForce GTX 1080") is None


def test_presets_are_many_and_their_sizes_agree() -> None:
    presets = load_presets()
    assert len(presets) >= 30
    families = {preset.family for preset in presets.values()}
    assert {"LLaMA", "Qwen", "GLM", "DeepSeek", "Mistral", "Baichuan"} <= families
    assert all(preset.source for preset in presets.values())


def test_notes_can_be_translated() -> None:
    figures = [figure for found in load_figures().values() for figure in found]
    assert {figure.note for figure in figures if figure.note} == set(NOTES)


def test_cards_agree_with_the_compiled_list(shared_dir: Path) -> None:
    with (shared_dir / "data" / "gpus.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 54
    for row in rows:
        card = card_for_name(row["name"])
        assert card is not None, row["name"]
        if row["bw_datasheet_gbs"]:
            bandwidth = card.bandwidth_bytes_per_s
            assert bandwidth is not None
            assert bandwidth / 1e9 == pytest.approx(float(row["bw_datasheet_gbs"]), rel=0.01)
        for alias in filter(None, row["aliases"].split("|")):
            assert card_for_name(alias) == card
