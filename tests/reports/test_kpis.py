"""The key figures: each with its worked example, and the properties that hold for any usage."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.reports.domain.kpis import KPIS, break_even_months, sums_of
from governance.telemetry.domain.columns import BINS, SHARE
from governance.telemetry.domain.rollup import Usage


@pytest.mark.parametrize("key", sorted(KPIS))
def test_worked_example(key: str) -> None:
    entry = KPIS[key]
    inputs, expected = entry.example
    assert entry.function(**inputs) == pytest.approx(expected), entry.formula


@pytest.mark.parametrize("key", sorted(KPIS))
def test_entry_says_what_it_is(key: str) -> None:
    entry = KPIS[key]
    assert all([entry.name, entry.formula, entry.unit, entry.window, entry.coverage])


OF_USAGE = [k for k in KPIS.values() if list(k.example[0]) == ["usage"]]


@pytest.mark.parametrize("entry", OF_USAGE, ids=lambda entry: entry.key)
def test_unknown_is_never_zero(entry: object) -> None:
    assert entry.function(sums_of()) is None  # type: ignore[attr-defined]


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    histogram = draw(st.lists(st.integers(0, 500), min_size=BINS, max_size=BINS))
    active = sum(histogram)
    samples = active + draw(st.integers(0, 500))
    billionths = st.integers(0, SHARE)
    return sums_of(
        samples=samples,
        activity_samples=samples,
        active_samples=active,
        active_ms=active * 1000,
        bandwidth_samples=samples,
        bandwidth_total=samples * draw(billionths),
        bandwidth_active_samples=active,
        bandwidth_active_total=active * draw(billionths),
        bandwidth_max=draw(st.none() | st.floats(0, 1)),
        histogram=histogram,
        sm_weight=samples,
        sm_total=samples * draw(billionths),
    )


@given(usages())
def test_shares_stay_between_nothing_and_all(usage: Usage) -> None:
    for entry in OF_USAGE:
        value = entry.function(usage)
        if entry.unit == "share" and value is not None:
            assert 0 <= value <= 1


@pytest.mark.parametrize("monthly", ["0", "-1"])
def test_no_monthly_price_no_break_even(monthly: str) -> None:
    assert break_even_months(Decimal(12), Decimal(monthly)) is None


def test_a_long_way_to_break_even_is_none() -> None:
    assert break_even_months(Decimal(13), Decimal(1)) is None
    assert break_even_months(Decimal(12), Decimal(1)) is None
    assert break_even_months(Decimal("11.99"), Decimal(1)) == 12


decimals = st.integers(-(10**9), 10**9).map(lambda n: Decimal(n) / 100)


@given(decimals, st.integers(0, 1000).map(lambda n: Decimal(n) / 1000))
def test_paid_bandwidth_is_used_or_not(cost: Decimal, share: Decimal) -> None:
    unused = KPIS["paid_bandwidth_not_used"].function(cost, share)
    assert abs(unused + cost * share - cost) <= Decimal("0.005")
    assert KPIS["paid_bandwidth_not_used"].function(cost, None) is None


@given(st.floats(0.01, 1000), st.floats(0.01, 1000))
def test_an_error_is_the_same_both_ways(predicted: float, actual: float) -> None:
    error = KPIS["estimate_error"].function
    assert error(predicted, actual) == pytest.approx(error(actual, predicted))
    assert error(predicted, actual) >= 0


@given(st.lists(st.floats(0, 100), min_size=1))
def test_a_running_error_lies_among_the_errors(errors: list[float]) -> None:
    assert min(errors) <= KPIS["predictor_error"].function(errors) <= max(errors)
