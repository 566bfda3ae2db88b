"""Sizing a service from logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.catalog.domain import load_presets
from governance.matching.model import of_preset
from governance.matching.trace import BadTrace, read_trace, size


def test_mooncake_totals(shared_dir: Path) -> None:
    path = shared_dir / "data/real/requests/mooncake_synthetic_trace.jsonl"
    found = size(read_trace(path.read_text(encoding="utf-8")))
    assert (found.requests, found.tokens_in, found.tokens_out) == (3993, 61194628, 595432)
    assert (int(found.mean_in), round(found.mean_out)) == (15325, 149)


def test_azure_totals(shared_dir: Path) -> None:
    path = shared_dir / "data/real/requests/azure_llm_2023_code.csv"
    found = size(read_trace(path.read_text(encoding="utf-8")))
    assert (found.requests, found.tokens_in, found.tokens_out) == (8819, 18059974, 245896)
    assert (found.median_in, found.median_out) == (1469, 13)


def test_concurrency_and_cache_of_a_small_log() -> None:
    text = "time,tokens_in,tokens_out\n0,100,30\n0.5,200,30\n10,50,30\n"
    model = of_preset(load_presets()["llama-2-7b"])
    found = size(read_trace(text), stream_rate=30, first_token_s=0.5, model=model)
    assert found.peak_concurrency == 2
    assert found.peak_kv_tokens == 360
    assert found.peak_kv_bytes == 360 * model.kv_bytes
    assert found.mean_concurrency == pytest.approx(3 * 1.5 / 10)
    assert found.egress_mbit == pytest.approx(2 * 30 * 200 * 8 / 1e6 * 1.5)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "no request"),
        ("time,tokens_in,tokens_out\n", "no request"),
        ("time,tokens_in\n1,2\n", "line 2"),
        ("time,tokens_in,tokens_out\nsoon,1,1\n", "line 2"),
        ("time,tokens_in,tokens_out\n1,x,1\n", "line 2"),
        ("time,tokens_in,tokens_out\n1,-4,1\n", "line 2"),
        ('{"timestamp": 0, "input_length": 1, "output_length": 1}\nnot json\n', "line 2"),
    ],
)
def test_bad_logs_name_the_line(text: str, place: str) -> None:
    with pytest.raises(BadTrace, match=place):
        size(read_trace(text))
