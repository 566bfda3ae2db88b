"""Folding readings to a row: sources never mixed, unknown never zero."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.fold import fold, histogram, percentile
from collector.model import COLUMNS, Reading


def readings(*shares, source="nvml_gpm", **figures):
    return [(60.0 + i, Reading(source, bandwidth=s, **figures)) for i, s in enumerate(shares)]


def test_means_over_all_and_over_active_readings() -> None:
    entries = readings(0.0, 0.0, gpu_duty=0.0) + readings(0.4, 0.6, gpu_duty=0.9)
    row = fold(entries)
    assert (row["samples"], row["active_samples"]) == (4, 2)
    assert row["bandwidth_mean"] == pytest.approx(0.25)
    assert row["bandwidth_active_mean"] == pytest.approx(0.5)
    assert row["bandwidth_max"] == 0.6
    assert (row["source"], row["fidelity"]) == ("nvml_gpm", "dram_bw")
    assert set(row) == set(COLUMNS)


def test_unknown_is_null_with_a_reason_and_lowers_bandwidth_samples() -> None:
    unknown = Reading(power_w=100.0)
    unknown.because("unsupported_mig")
    row = fold([(60.0, unknown)])
    assert row["bandwidth_mean"] is None
    assert row["active_samples"] is None
    assert row["samples"] == 1
    assert row["bandwidth_samples"] == 0
    assert row["power_w_mean"] == 100.0
    assert row["fidelity"] == "unknown"
    assert row["reason"] == "unsupported_mig"


def test_a_minute_of_two_sources_keeps_one_and_says_so() -> None:
    row = fold(readings(0.5, 0.5, 0.5) + readings(0.9, 0.9, source="nvml_duty"))
    assert row["source"] == "nvml_gpm"
    assert row["bandwidth_mean"] == 0.5
    assert row["bandwidth_samples"] == 3
    assert row["samples"] == 5
    assert "mixed_source" in row["reason"]


def test_a_tie_goes_to_the_better_source() -> None:
    row = fold(readings(0.9, source="nvml_duty") + readings(0.5))
    assert row["source"] == "nvml_gpm"


def test_a_lost_card_has_a_row_without_samples() -> None:
    lost = Reading()
    lost.because("lost")
    row = fold([(60.0, lost)])
    assert (row["samples"], row["bandwidth_mean"], row["reason"]) == (0, None, "lost")


def test_edges_of_the_histogram() -> None:
    assert histogram([0.0, 0.049, 0.05, 0.15, 0.3, 0.4, 1.0]) == (
        [2, 1, 0, 1, 0, 0, 1, 0, 1] + [0] * 10 + [1]
    )


@given(st.integers(0, 20))
def test_a_share_on_an_edge_belongs_to_the_step_above(step: int) -> None:
    assert histogram([step * 5 / 100])[min(19, step)] == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_order_never_changes_a_row_and_figures_stay_in_range(shares: list[float]) -> None:
    row = fold(readings(*shares))
    turned = fold([(130.0 - at, reading) for at, reading in readings(*shares)])
    for name in ("bandwidth_mean", "bandwidth_p95", "bandwidth_max", "bandwidth_histogram"):
        assert row[name] == turned[name]
    assert min(shares) - 1e-9 <= row["bandwidth_mean"] <= max(shares) + 1e-9
    assert sum(row["bandwidth_histogram"]) == len(shares)
    assert row["bandwidth_p95"] == percentile(sorted(shares), 0.95)
    assert sum(share <= row["bandwidth_p95"] for share in shares) >= math.ceil(0.95 * len(shares))


def test_events_are_summed_and_names_of_throttling_joined() -> None:
    entries = [
        (60.0, Reading(xid=1, ecc_corrected=2, throttle=("hw_slowdown",), power_w=1.0)),
        (61.0, Reading(xid=0, ecc_corrected=3, throttle=("sw_power_cap",), power_w=1.0)),
    ]
    row = fold(entries)
    assert (row["xid_count"], row["ecc_corrected_count"]) == (1, 5)
    assert row["ecc_uncorrected_count"] is None
    assert row["throttle"] == "hw_slowdown,sw_power_cap"


def test_packing_keeps_everything() -> None:
    reading = Reading("nvml_duty", bandwidth=0.25, throttle=("a",), processes=[{"user": "u"}])
    reading.because("x")
    again = Reading.unpack(reading.pack())
    for name in Reading.FIELDS:
        assert getattr(again, name) == getattr(reading, name)


@pytest.mark.parametrize(
    ("figures", "active"),
    [
        ({"gpu_duty": 1.0, "sm": 0.04}, False),
        ({"gpu_duty": 1.0, "sm": 0.05}, False),
        ({"gpu_duty": 0.0, "sm": 0.06}, True),
        ({"gpu_duty": 0.01}, True),
        ({"gpu_duty": 0.0}, False),
        ({"bandwidth": 0.2}, True),
        ({"power_w": 70.0}, None),
    ],
)
def test_active_is_sm_over_five_per_cent_else_any_duty(
    figures: dict[str, float], active: bool | None
) -> None:
    assert Reading("nvml_gpm", **figures).active is active
