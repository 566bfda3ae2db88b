"""The decision table: low bandwidth alone never means a smaller card."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.catalog.domain import load_cards
from governance.matching import Thresholds, UsageWindow, compare, diagnose, what_if

GB = 1e9
GIB = 1 << 30
CARDS = load_cards()
A800 = CARDS["a800-80gb-sxm4"]
RTX4090 = CARDS["rtx-4090"]
BASE = UsageWindow(coverage=0.95, active_hours=100, source="dcgm_1005")


def window(**changes: object) -> UsageWindow:
    return dataclasses.replace(BASE, **changes)  # type: ignore[arg-type]


def test_t1_compute_bound_is_flagged_and_kept() -> None:
    found = diagnose(window(bandwidth=0.22, tensor=0.61, sm=0.88), A800)
    assert (found.row, found.flag_bw_low_30, found.downgrade) == (6, True, "no")
    assert str(found.reason) == (
        "Bandwidth 22 % is under 30 %, but tensor cores are busy 61 %: bound by compute, "
        "no downgrade."
    )
    assert found.source == "dcgm_1005"


def test_t2_capacity_bound_is_exempt() -> None:
    found = diagnose(window(bandwidth=0.18, memory_peak=71 * GIB, tensor=0.08, sm=0.3), A800)
    assert (found.row, found.flag_bw_low_30, found.downgrade) == (8, True, "no")


def test_t3_sawtooth_of_a_loader_is_storage() -> None:
    starved = window(bandwidth=0.12, sm=0.2, sawtooth=True, pcie_bytes_per_s=2e9, disk=0.95)
    found = diagnose(starved, A800)
    assert (found.row, found.cause, found.downgrade) == (3, "starved", "no")


def test_t4_idle_is_released_not_changed() -> None:
    found = diagnose(window(active_share=0.01, gpu=0.01, sm=0.0, bandwidth=0.01), A800)
    assert (found.row, found.cause, found.downgrade) == (2, "idle", "no")


def test_t5_oversized_goes_down_with_a_saving() -> None:
    seen = window(bandwidth=0.09, sm=0.20, gpu=0.35, tensor=0.05, memory_peak=11 * GIB)
    found = diagnose(seen, A800)
    assert (found.row, found.flag_bw_low_30, found.downgrade) == (12, True, "yes")
    answer = what_if(seen, A800, RTX4090, old_price=Decimal("14.8"), new_price=Decimal("3.2"))
    assert answer.passes
    assert answer.time_factor == 1.0
    assert answer.saving == pytest.approx(1 - 3.2 / 14.8)


def test_t6_a_rate_is_divided_by_the_data_sheet_never_by_the_claim() -> None:
    found = diagnose(window(bandwidth_bytes_per_s=1650 * GB, sm=0.4), A800)
    assert found.figures["bandwidth"] == pytest.approx(1650 / 2039)
    assert found.figures["bandwidth"] <= 1


def test_t6_an_unconfirmed_card_gives_no_share() -> None:
    found = diagnose(window(bandwidth_bytes_per_s=640 * GB, sm=0.4), CARDS["ascend-910b3"])
    assert found.flag_bw_low_30 is None


def test_t7_duty_cycle_over_the_threshold_says_nothing() -> None:
    found = diagnose(window(bandwidth=0.45, fidelity="duty_bound", sm=0.5), A800)
    assert found.flag_bw_low_30 is None
    assert found.downgrade == "no"


def test_t7_duty_cycle_under_it_flags_with_less_confidence() -> None:
    seen = window(bandwidth=0.12, fidelity="duty_bound", sm=0.15, gpu=0.2, memory_peak=5 * GIB)
    found = diagnose(seen, A800)
    assert (found.flag_bw_low_30, found.confidence) == (True, "medium")


@pytest.mark.parametrize(("value", "flagged"), [(0.299, True), (0.30, False)])
def test_t8_edges(value: float, flagged: bool) -> None:
    assert diagnose(window(bandwidth=value, sm=0.4), A800).flag_bw_low_30 is flagged


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({"coverage": 0.5, "bandwidth": 0.1, "sm": 0.1}, 1),
        ({"fidelity": "unknown", "bandwidth": 0.1}, 1),
        ({"faults": 1, "bandwidth": 0.1, "sm": 0.1}, 14),
        ({"throttled": 0.3, "bandwidth": 0.7, "sm": 0.9}, 14),
        ({"cards": 8, "bandwidth": 0.15, "sm": 0.35, "link": 0.75, "scaling": 0.5}, 4),
        ({"cards": 16, "nodes": 2, "bandwidth": 0.15, "sm": 0.35, "network": 0.8}, 4),
        ({"cards": 8, "bandwidth": 0.15, "sm": 0.35, "link": 0.1, "sync_wait": 0.4}, 5),
        ({"bandwidth": 0.25, "tensor": 0.3, "sm": 0.5}, 7),
        ({"bandwidth": 0.65, "sm": 0.35}, 9),
        ({"bandwidth": 0.45, "sm": 0.85, "tensor": 0.05}, 10),
        ({"serving": True, "bandwidth": 0.1, "sm": 0.3, "bandwidth_p95": 0.5}, 13),
        ({"gpu": 0.6, "sm": 0.15, "bandwidth": 0.1, "memory_peak": 10 * GIB}, 11),
        ({"bandwidth": 0.25, "sm": 0.7}, 15),
    ],
)
def test_rows(changes: dict[str, object], row: int) -> None:
    assert diagnose(window(**changes), A800).row == row


def test_service_is_sized_by_its_peak() -> None:
    calm = window(serving=True, bandwidth=0.1, sm=0.3, bandwidth_p95=0.2)
    busy = dataclasses.replace(calm, bandwidth_p95=0.5)
    assert diagnose(calm, A800).downgrade == "what_if"
    assert diagnose(busy, A800).downgrade == "no"


def test_thresholds_are_settings() -> None:
    seen = window(bandwidth=0.35, sm=0.4, memory_peak=10 * GIB)
    assert diagnose(seen, A800).flag_bw_low_30 is False
    assert diagnose(seen, A800, Thresholds(flag=0.4)).flag_bw_low_30 is True


SHARES = st.one_of(st.none(), st.floats(0, 1))


@given(SHARES, SHARES, SHARES, SHARES, SHARES, st.sampled_from(["dram_bw", "duty_bound"]))
def test_no_downgrade_without_the_flag(
    bandwidth: float | None,
    sm: float | None,
    tensor: float | None,
    gpu: float | None,
    peak: float | None,
    fidelity: str,
) -> None:
    seen = window(
        bandwidth=bandwidth,
        sm=sm,
        tensor=tensor,
        gpu=gpu,
        fidelity=fidelity,
        memory_peak=None if peak is None else peak * 80 * GIB,
    )
    found = diagnose(seen, A800)
    if found.downgrade != "no":
        assert found.flag_bw_low_30 is True
        assert found.row in (7, 11, 12, 13)


def test_what_if_refuses_too_little_memory() -> None:
    seen = window(bandwidth=0.1, sm=0.2, memory_peak=23 * GIB)
    answer = what_if(seen, A800, RTX4090, old_price=Decimal(14), new_price=Decimal(3))
    assert not answer.passes
    assert answer.reason.code == "memory"


def test_what_if_names_the_layer_that_binds() -> None:
    seen = window(bandwidth=0.6, sm=0.5, tensor=0.1, memory_peak=10 * GIB)
    answer = what_if(seen, A800, RTX4090, old_price=Decimal("14.8"), new_price=Decimal("3.2"))
    assert answer.binds == "memory"
    assert answer.time_factor == pytest.approx(0.6 * 2039 / (0.8 * 1008))
    late = what_if(
        seen,
        A800,
        RTX4090,
        old_price=Decimal("14.8"),
        new_price=Decimal("3.2"),
        slack=1.2,
    )
    assert (late.passes, late.reason.code) == (False, "late")


def test_what_if_needs_a_tenth_off() -> None:
    seen = window(bandwidth=0.1, sm=0.2, memory_peak=10 * GIB)
    for price, passes in (("8.99", True), ("9.00", False)):
        answer = what_if(seen, A800, RTX4090, old_price=Decimal(10), new_price=Decimal(price))
        assert answer.passes is passes


def test_four_cards_without_peer_access_lose_to_the_links() -> None:
    """15.4 samples/s on one card, 14.0 on four, steps wait for the sum: row 4."""
    one = window(sm=0.9)
    four = window(sm=0.3, cards=4, sync_wait=0.9)
    found = compare(one, 15.4, four, 14.0)
    assert found.row == 4
    assert found.layer == "interconnect"
    assert found.efficiency == pytest.approx(14.0 / 61.6)
    seen = window(cards=4, sm=0.3, bandwidth=0.1, scaling=found.efficiency, sync_wait=0.95)
    assert diagnose(seen, RTX4090).row == 4


def test_compare_names_storage_and_health() -> None:
    assert compare(window(sm=0.2), 10, window(sm=0.2, cards=2, network=0.0), 11).layer == "storage"
    assert compare(window(sm=0.9), 10, window(sm=0.88, cards=2), 19).layer == "none"
    assert compare(window(sm=0.9), 10, window(sm=0.88, cards=2), 12).row == 5
    with pytest.raises(ValueError, match="rates"):
        compare(window(), 0, window(cards=2), 1)
