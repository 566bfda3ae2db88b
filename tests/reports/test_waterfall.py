"""The paid amount is divided whole, whatever is known of it."""

from decimal import Decimal as D

from hypothesis import given
from hypothesis import strategies as st

from governance.reports.domain.waterfall import PARTS, Slice, avoidable, divide

shares = st.floats(0, 1)
slices = st.builds(
    Slice,
    paid=st.integers(0, 10**9).map(lambda cents: D(cents) / 100),
    coverage=shares,
    active=st.none() | shares,
    share=st.none() | shares,
    cause=st.sampled_from(PARTS),
)


@given(st.lists(slices, max_size=8))
def test_no_cent_is_lost(parts: list[Slice]) -> None:
    divided = divide(parts, "CNY")
    assert sum(divided.values()) == sum((s.paid for s in parts), D(0))
    assert all(amount >= 0 for amount in divided.values())


def test_half_known_idle_and_busy() -> None:
    divided = divide([Slice(D("1000.00"), 0.8, 0.5, 0.25, "link_bound")], "CNY")
    assert divided["no_data"] == D("200.00")
    assert divided["idle"] == D("400.00")
    assert divided["used"] == D("100.00")
    assert divided["link_bound"] == D("300.00")
    assert avoidable(divided) == D("700.00")


def test_bandwidth_left_by_compute_is_no_loss() -> None:
    divided = divide([Slice(D(100), 1.0, 1.0, 0.2, "compute_bound")], "CNY")
    assert avoidable(divided) == 0


def test_what_was_not_measured_is_not_idle() -> None:
    assert divide([Slice(D(10), 1.0, None, None)], "CNY")["no_data"] == D(10)
    assert divide([Slice(D(10), 1.0, 0.5, None)], "CNY")["no_data"] == D(10)
