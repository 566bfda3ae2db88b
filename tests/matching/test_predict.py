"""Predictions against measured runs, and bad rows."""

from __future__ import annotations

import csv
from collections import defaultdict
from math import exp, log
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.matching.calibrate import (
    Scored,
    fit,
    kind_of,
    left_out,
    quantile,
    scorable,
    score,
    solve,
    source_of,
)
from governance.matching.constants import BELONGS, table, values
from governance.matching.files import ADDED, BadFile, predict_file
from governance.matching.names import resolve
from governance.matching.rows import predict_row
from tests.bench.predict import GOALS

GOOD = {
    "id": "1",
    "workload": "pretrain",
    "params_b": "6.74",
    "gpu": "A100-SXM-80",
    "n_gpus": "8",
    "n_nodes": "1",
    "seq_len": "2048",
    "global_batch_tokens": "131072",
    "tokens_total": "",
    "measured_metric": "tokens_per_s_per_gpu",
    "unit": "tok/s/GPU",
    "cfg": "layers=32;hidden=4096;mb=2;ckpt=1;zero=3;tp=1;pp=1;engine=llm-foundry",
}


@pytest.fixture(scope="module")
def everything(shared_dir: Path) -> list[dict[str, str]]:
    with (shared_dir / "data/measured_calibrate.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def rows(everything: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row for row in everything if scorable(row)]


def held_to(scored: list[Scored], goals: dict[str, tuple[float, float]]) -> None:
    groups: dict[str, list[Scored]] = defaultdict(list)
    for row in scored:
        groups[kind_of(row.raw)].append(row)
    for kind, (middle, high) in goals.items():
        errors = [row.error for row in groups[kind]]
        assert 100 * quantile(errors, 0.5) <= middle, kind
        assert 100 * quantile(errors, 0.9) <= high, kind
    bias = exp(sum(log(row.ratio) for row in groups["memory"]) / len(groups["memory"]))
    assert abs(bias - 1) < 0.05


def test_goals_with_the_shipped_constants(rows: list[dict[str, str]]) -> None:
    scored = score(rows, values())
    assert len(scored) == len(rows)
    held_to(scored, GOALS)


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_goals_with_each_source_left_out(rows: list[dict[str, str]]) -> None:
    held_to(left_out(rows), GOALS)


def test_intervals_cover_and_are_not_too_wide(rows: list[dict[str, str]]) -> None:
    inside, ratios = 0, []
    for raw in rows:
        answer = predict_row(raw)
        assert answer.low is not None
        assert answer.high is not None
        inside += answer.low <= float(raw["measured_value"]) <= answer.high
        ratios.append(answer.high / answer.low)
    assert inside >= 0.8 * len(rows)
    assert quantile(ratios, 0.5) <= 2.0
    assert max(ratios) <= 4.0


def test_no_run_that_ran_out_of_memory_fits(everything: list[dict[str, str]]) -> None:
    failed = [
        r for r in everything if r["measured_metric"] == "fits" and r["measured_value"] == "0"
    ]
    assert failed
    assert [predict_row(r).value for r in failed] == [0.0] * len(failed)


def test_completed_runs_fit(rows: list[dict[str, str]]) -> None:
    refused = [row["id"] for row in rows if not predict_row(row).fits]
    assert len(refused) <= 0.03 * len(rows), refused


def test_the_faster_of_two_measured_plans_is_chosen(rows: list[dict[str, str]]) -> None:
    """Plans of one model on the same cards: the predicted best costs at most 5 % of the real."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        if row["measured_metric"] in ("tokens_per_s_per_gpu", "total_s", "train_days"):
            keys = ("source", "workload", "params_b", "gpu", "n_gpus", "seq_len", "measured_metric")
            groups[tuple(row[key] for key in keys)].append(row)
    compared = 0
    for found in groups.values():
        if len(found) < 2:
            continue
        compared += 1
        fast = max if found[0]["measured_metric"].startswith("tokens") else min
        chosen = fast(found, key=lambda r: predict_row(r).value or 0.0)
        best = fast(float(r["measured_value"]) for r in found)
        ratio = float(chosen["measured_value"]) / best
        assert max(ratio, 1 / ratio) <= 1.05
    assert compared


def test_constants_are_named_and_explained() -> None:
    names = [constant.name for constant in table()]
    assert len(names) == len(set(names))
    for constant in table():
        assert constant.belongs_to in BELONGS
        assert constant.why, constant.name
        assert constant.spread > 0


def test_a_fit_without_rows_is_the_prior() -> None:
    assert fit([]) == pytest.approx({c.name: c.prior for c in table()})


def test_solve() -> None:
    assert solve([[0.0, 2.0], [3.0, 1.0]], [4.0, 5.0]) == pytest.approx([1.0, 2.0])


def test_sources_are_whole_publications() -> None:
    first = source_of({"source": "Lightning-AI/litgpt tutorials/resource-tables.md @2685705"})
    assert first == source_of({"source": "Lightning-AI/litgpt config_hub/finetune/README.md"})
    assert source_of({"source": "arXiv:2104.04473 (Narayanan 2021) Table 1"}) == "arxiv:2104.04473"


@pytest.mark.parametrize(
    ("name", "slug", "watts", "composed"),
    [
        ("A100-SXM-80-330W", "a100-80gb-sxm4", 330.0, False),
        ("H100-SXM-96-HBM2e-500W", "h100-96gb-sxm-hbm2e-500-w", None, False),
        ("H100-SXM-80-HBM3-500W", "h100-80gb-sxm5", 500.0, False),
        ("H800-SXM-80", "h800-80gb-sxm5", None, False),
        ("Ascend-910B(A2)", "ascend-910b3", None, False),
        ("A100-SXM-64", "a100-80gb-sxm4", None, True),
    ],
)
def test_names_of_cards(name: str, slug: str, watts: float | None, composed: bool) -> None:
    found = resolve(name)
    assert found is not None
    assert (found.card.slug, found.watts, found.composed) == (slug, watts, composed)


def test_another_memory_type_changes_the_bandwidth() -> None:
    found = resolve("H100-SXM-80-HBM2e")
    assert found is not None
    assert found.card.bandwidth_bytes_per_s == 2039e9 or found.composed


def test_less_power_is_slower() -> None:
    full, low = (
        predict_row({**GOOD, "gpu": gpu}).value for gpu in ("A100-SXM-80", "A100-SXM-80-250W")
    )
    assert full is not None
    assert low is not None
    assert low < full


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"gpu": "TPUv4-32"}, "family"),
        ({"gpu": ""}, "family"),
        ({"params_b": ""}, "params_b"),
        ({"params_b": "big"}, "params_b"),
        ({"params_b": "-1"}, "params_b"),
        ({"params_b": "nan"}, "params_b"),
        ({"workload": "dance"}, "workload"),
        ({"measured_metric": "happiness"}, "happiness"),
        ({"cfg": "layers=many"}, "layers"),
        ({"n_gpus": "6", "cfg": "tp=4;pp=1;mb=1;layers=32;hidden=4096"}, "6 cards"),
    ],
)
def test_what_is_unknown_gives_a_reason(change: dict[str, str], word: str) -> None:
    answer = predict_row({**GOOD, **change})
    assert answer.value is None
    assert word in answer.reason


TEXT = st.one_of(
    st.sampled_from(["", "0", "-1", "1e400", "nan", "inf", "8", "x", "1e-300", "99999999999999"]),
    st.text(max_size=8),
)
KEYS = (
    *("layers", "hidden", "vocab", "kvr", "mb", "ga", "gbs", "ckpt", "zero", "tp", "pp", "vpp"),
    *("cp", "sp", "states", "wbits", "wgib", "r", "batch", "ctx", "prompt", "out", "prec"),
    *("chunk", "offload", "auto", "stack", "engine", "net_gbs", "active"),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.dictionaries(st.sampled_from(sorted(GOOD)), TEXT, max_size=3),
    st.dictionaries(st.sampled_from(KEYS), TEXT, max_size=5),
    st.sampled_from(["pretrain", "lora", "qlora", "full", "decode"]),
)
def test_no_row_ever_crashes(change: dict[str, str], cfg: dict[str, str], workload: str) -> None:
    pairs = ";".join(f"{key}={value}" for key, value in cfg.items())
    answer = predict_row({**GOOD, "workload": workload, "cfg": pairs, **change})
    if answer.value is None:
        assert answer.reason
    else:
        assert answer.low is not None
        assert answer.high is not None
        assert 0 <= answer.low <= answer.value <= answer.high < float("inf")


def test_files_carry_their_columns_along() -> None:
    text = "id,colour,workload,params_b,gpu,measured_metric\n1,red,decode,8,RTX4090,tokens_per_s\n"
    head, line = list(predict_file(text))
    assert head == ["id", "colour", "workload", "params_b", "gpu", "measured_metric", *ADDED]
    assert line[1] == "red"
    assert float(line[6]) > 0


def test_a_file_without_columns_is_refused() -> None:
    with pytest.raises(BadFile, match="workload"):
        predict_file("id,gpu\n1,A100\n")
