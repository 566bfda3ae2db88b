"""Traffic and 95th-percentile bandwidth."""

from decimal import Decimal as D

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.rentals.domain.metered import percentile_95, percentile_charge, traffic_charge


def test_the_highest_five_per_cent_are_free():
    samples = [D(n) for n in range(1, 101)]
    assert percentile_95(samples) == 95
    assert percentile_charge(samples, D("20.5")) == D("1947.5")
    month = [D(10)] * 8_640
    month[:432] = [D(1_000)] * 432
    assert percentile_95(month) == 10
    month[432] = D(1_000)
    assert percentile_95(month) == 1_000


@pytest.mark.parametrize("count", [1, 19, 20, 21])
def test_few_samples(count):
    samples = [D(1)] * (count - 1) + [D(9)]
    assert percentile_95(samples) == (1 if count >= 20 else 9)


def test_nothing_measured_is_not_zero():
    with pytest.raises(ValueError, match="at least one"):
        percentile_95([])


def test_traffic_over_what_is_included():
    assert traffic_charge(1_500_000_000_000, D(1000), D("0.80")) == 400
    assert traffic_charge(999, D(1000), D("0.80")) == 0


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300), st.randoms())
def test_order_does_not_matter_and_at_most_a_twentieth_lies_above(samples, random):
    values = [D(n) for n in samples]
    found = percentile_95(values)
    random.shuffle(values)
    assert percentile_95(values) == found
    assert sum(value > found for value in values) * 20 <= len(values)
    assert found in values
