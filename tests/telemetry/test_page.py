"""Samples pages: refused whole when the frame is wrong, row by row when a row is."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.telemetry.domain.merge import fold
from governance.telemetry.domain.page import PageFault, check_page, check_pages, parse_page
from governance.telemetry.services import unpack
from tests.telemetry.pages import BASE, NOW_MINUTE, document, page, row


@pytest.mark.parametrize("body", [b"", b" \n", b"[]", b"{}", b"null", b'""', b"# HELP x y\n"])
def test_an_answer_that_is_no_page_is_a_fault(body: bytes) -> None:
    with pytest.raises(PageFault) as caught:
        parse_page(body, now_minute=NOW_MINUTE)
    assert caught.value.code in {"empty_payload", "not_json"}


@pytest.mark.parametrize("cut", [1, 50, 300])
def test_a_page_cut_short_is_a_fault(cut: int) -> None:
    body = orjson.dumps(document([row()]))
    with pytest.raises(PageFault):
        parse_page(body[:-cut], now_minute=NOW_MINUTE)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"format": 2}, "format"),
        ({"format": True}, "format"),
        ({"agent": ""}, "frame"),
        ({"next": None}, "frame"),
        ({"cards": None}, "frame"),
        ({"cards": [{"vendor": "acme", "uuid": "x"}]}, "frame"),
        ({"cards": [{"vendor": "nvidia", "uuid": ""}]}, "frame"),
        ({"columns": []}, "frame"),
        ({"columns": {"seq": [1]}}, "columns"),
        ({"gaps": {}}, "frame"),
    ],
)
def test_a_wrong_frame_is_a_fault(change: dict[str, Any], code: str) -> None:
    with pytest.raises(PageFault) as caught:
        parse_page(orjson.dumps(document([row()]) | change), now_minute=NOW_MINUTE)
    assert caught.value.code == code


def test_columns_of_different_length_are_a_fault() -> None:
    broken = document([row(), row(card=1)])
    broken["columns"]["power_w_mean"].pop()
    with pytest.raises(PageFault, match="length: the column power_w_mean"):
        parse_page(orjson.dumps(broken), now_minute=NOW_MINUTE)


def test_unknown_columns_are_ignored_and_absent_ones_unknown() -> None:
    found = page([row(wind_speed=7, processes=[{"user": "a"}])])
    assert "wind_speed" not in found.rows.columns
    assert found.rows["sm"].to_list() == [None]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"seq": -1}, "seq"),
        ({"seq": "7"}, "type:seq"),
        ({"card": 9}, "card"),
        ({"card": None}, "card"),
        ({"minute": BASE * 60 + 1}, "minute"),
        ({"minute": 60}, "minute"),
        ({"minute": (NOW_MINUTE + 11) * 60}, "future"),
        ({"source": "guess"}, "source"),
        ({"source": None}, "source"),
        ({"fidelity": "duty_bound"}, "fidelity"),
        ({"fidelity": "surely"}, "fidelity"),
        ({"samples": None}, "counts"),
        ({"samples": -1}, "counts"),
        ({"samples": 40_000}, "counts"),
        ({"active_samples": 61}, "counts"),
        ({"bandwidth_samples": 61}, "counts"),
        ({"bandwidth_mean": "fast"}, "type:bandwidth_mean"),
        ({"samples": 59.5}, "type:samples"),
    ],
)
def test_a_bad_row_is_left_out_with_its_reason(fault: dict[str, Any], reason: str) -> None:
    found = page([row(), row(minute=BASE + 1) | fault, row(minute=BASE + 2)])
    assert found.rejected == {reason: 1}
    assert found.rows["minute"].to_list() == [BASE, BASE + 2]


@pytest.mark.parametrize("share", [1.0001, -0.1, 37.0, 9223372036854775794, 140737488355328.0])
def test_bandwidth_out_of_range_becomes_unknown_with_a_reason(share: float) -> None:
    found = page([row(bandwidth_max=share), row(minute=BASE + 1)])
    bad, good = found.rows.to_dicts()
    assert found.rejected == {"range:bandwidth_max": 1}
    assert bad["bandwidth_mean"] is None
    assert bad["fidelity"] == 0
    assert bad["bandwidth_samples"] == 0
    assert bad["reason"] == "out_of_range"
    assert bad["gpu_duty"] == 0.5
    assert good["bandwidth_mean"] == pytest.approx(0.2)


def test_another_figure_out_of_range_leaves_bandwidth_alone() -> None:
    [found] = page([row(temperature_c_max=999.0, reason="mixed_source")]).rows.to_dicts()
    assert found["temperature_c"] is None
    assert found["bandwidth_mean"] == pytest.approx(0.2)
    assert found["reason"] == "mixed_source,out_of_range"


def test_zero_is_zero_and_null_is_unknown() -> None:
    zero, unknown = page(
        [
            row(
                bandwidth_mean=0.0, bandwidth_active_mean=None, bandwidth_max=0.0, active_samples=0
            ),
            row(
                minute=BASE + 1,
                fidelity="unknown",
                bandwidth_mean=None,
                bandwidth_active_mean=None,
                bandwidth_max=None,
                active_samples=None,
                reason="unsupported_mig",
            ),
        ]
    ).rows.to_dicts()
    assert zero["bandwidth_mean"] == 0.0
    assert zero["bandwidth_active_samples"] == 0
    assert unknown["bandwidth_mean"] is None
    assert unknown["active_samples"] is None
    assert unknown["fidelity"] == 0


def test_both_directions_of_a_link_are_added_and_one_known_is_enough() -> None:
    both, one, none = page(
        [
            row(nvlink_rx_bytes_per_s_mean=3.0, nvlink_tx_bytes_per_s_mean=4.0),
            row(minute=BASE + 1, nvlink_rx_bytes_per_s_mean=3.0),
            row(minute=BASE + 2),
        ]
    ).rows.to_dicts()
    assert [both["nvlink"], one["nvlink"], none["nvlink"]] == [7.0, 3.0, None]


def test_an_empty_page_is_sound() -> None:
    found = page([])
    assert found.rows.height == 0
    assert found.next == "e1:0"


def test_gaps_are_read_and_odd_ones_counted() -> None:
    found = page(
        [],
        gaps=[
            {"from": "2026-11-27T00:00:00Z", "to": "2026-11-27T00:05:00Z", "reason": "retention"},
            {"from": "yesterday", "to": None},
        ],
    )
    assert [gap.reason for gap in found.gaps] == ["retention"]
    assert found.rejected == {"gap": 1}


def test_within_a_page_the_row_with_more_samples_stays() -> None:
    found = page([row(samples=60), row(samples=30, active_samples=3), row(card=1)])
    rows = found.rows.with_columns(card_id="card", delivery=pl.lit(0, pl.Int32))
    kept, lost = fold(rows)
    assert lost == {0: 1}
    assert kept.select("card", "samples").rows() == [(0, 60), (1, 60)]


def test_pages_checked_together_are_as_checked_alone() -> None:
    """Faults of one neither reach nor move the rows of its neighbours."""
    documents = [
        document([row(minute=BASE + n, power_w_mean=float(n)) for n in range(3)]),
        document([]),
        {"format": 7},
        document([row(samples=-1), row(card=2), row(bandwidth_mean=7.0)]),
        document([row(sm_mean=0.5), row(card=7), row(seq="x")], cards=["GPU-9"]),
    ]
    together = check_pages(documents, now_minute=NOW_MINUTE)
    for one, found in zip(documents, together, strict=True):
        if isinstance(found, PageFault):
            assert found.code == "format"
            continue
        alone = check_page(one, now_minute=NOW_MINUTE)
        assert found.rows.equals(alone.rows)
        assert found.rejected == alone.rejected


@given(st.binary(max_size=200))
def test_any_bytes_are_a_page_or_a_fault(body: bytes) -> None:
    with pytest.raises(PageFault):
        parse_page(body, now_minute=NOW_MINUTE)


_cell = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=5),
)


@given(st.dictionaries(st.sampled_from(sorted(row())), _cell, max_size=4))
def test_any_cell_leaves_its_neighbours_alone(fault: dict[str, Any]) -> None:
    try:
        body = orjson.dumps(document([row(), row(minute=BASE + 1) | fault, row(minute=BASE + 2)]))
    except TypeError:
        return
    found = parse_page(body, now_minute=NOW_MINUTE)
    assert {BASE, BASE + 2} <= set(found.rows["minute"])
    assert (
        found.rows.height
        + sum(count for reason, count in found.rejected.items() if not reason.startswith("range:"))
        == 3
    )


def test_unpacking_refuses_bombs_and_stumps(monkeypatch: pytest.MonkeyPatch) -> None:
    body = gzip.compress(b"x" * 1000)
    assert unpack(body) == b"x" * 1000
    with pytest.raises(PageFault, match="cut_short"):
        unpack(body[:-9])
    with pytest.raises(PageFault, match="not_gzip"):
        unpack(b"plain")
    monkeypatch.setattr("governance.telemetry.services.pull.MAX_BODY", 999)
    with pytest.raises(PageFault, match="too_large"):
        unpack(body)
