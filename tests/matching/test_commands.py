"""The commands from outside: answers on standard output, faults on standard error, status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command

OFFERS = """sku,region,card,cards_per_unit,currency,hourly,annual
xy-4090,cn,RTX 4090,1,CNY,3.2,16000
xy-a800,cn,A800 80G,8,CNY,118.4,
"""
ROW = (
    "id,workload,params_b,gpu,n_gpus,n_nodes,seq_len,global_batch_tokens,tokens_total,"
    "measured_metric,unit,cfg\n"
)


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def refused(*words: str) -> str:
    faults = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(*words, stdout=io.StringIO(), stderr=faults)
    assert ended.value.code == 1
    return faults.getvalue()


@pytest.fixture
def offers(tmp_path: Path) -> str:
    path = tmp_path / "offers.csv"
    path.write_text(OFFERS, encoding="utf-8")
    return str(path)


def test_match_from_a_file_needs_no_database(offers: str) -> None:
    answer = json.loads(
        run(
            *("match", "--json", "--params-b", "70", "--method", "lora", "--tokens", "1e8"),
            *("--seq-len", "2048", "--global-batch", "64", "--deadline-hours", "72"),
            *("--max-cards", "8", "--offers", offers),
        )
    )
    first = answer["packages"][0]
    assert first["card"] == "a800-80gb-sxm4"
    assert first["memory"]["fits"]
    assert "deadline of 72.0 h" in first["reason"]["words"]
    assert [r["card"] for r in answer["rejected"]] == ["rtx-4090"]
    assert "GiB" in answer["rejected"][0]["reason"]["words"]


def test_match_names_the_option(offers: str) -> None:
    assert "--method" in refused("match", "--method", "dance", "--offers", offers)
    assert "--tokens" in refused("match", "--params-b", "7", "--offers", offers)
    assert "nothing.csv" in refused("match", "--params-b", "7", "--offers", "nothing.csv")


def test_predict_writes_a_line_a_row(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    cfg = "layers=32;hidden=4096;mb=2;ckpt=1;zero=3;tp=1;pp=1"
    known = f"1,pretrain,6.74,A100-SXM-80,8,1,2048,131072,,tokens_per_s_per_gpu,tok/s/GPU,{cfg}\n"
    source.write_text(ROW + known + "2,pretrain,6.74,Abacus,8,1,2048,,,tokens_per_s,,\n")
    run("predict", str(source), "--out", str(target))
    with target.open(encoding="utf-8") as file:
        good, bad = csv.DictReader(file)
    assert 0 < float(good["low"]) < float(good["predicted_value"]) < float(good["high"])
    assert (good["fits"], good["bottleneck"]) == ("1", "compute")
    assert bad["predicted_value"] == ""
    assert "family" in bad["reason"]


def test_predict_refuses_and_writes_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id,gpu\n1,A100\n")
    assert "workload" in refused("predict", str(source), "--out", str(target))
    assert not target.exists()


def test_trace(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time,tokens_in,tokens_out\n0,10,5\n1,20,5\n")
    answer = json.loads(run("match", "--json", "--trace", str(log)))
    assert (answer["requests"], answer["tokens_in"], answer["tokens_out"]) == (2, 30, 10)
