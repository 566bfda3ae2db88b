"""Forecast and anomalies with their worked figures."""

from decimal import Decimal as D

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.reports.domain.anomaly import by_subscription, by_use
from governance.reports.domain.forecast import forecast


def test_a_fee_is_not_run_rate() -> None:
    """Day 10 of 30, 444.00 a day by use, 1,728.00 paid on day 1: 15,048.00, not 18,504.00."""
    answer = forecast(fixed=D("1728.00"), daily=[D("444.00")] * 10, days_left=20)
    assert (answer.low, answer.mid, answer.high) == (D("15048.00"),) * 3
    assert answer.method == "trailing_7"


def test_two_days_are_not_enough() -> None:
    answer = forecast(fixed=D("1728.00"), daily=[D("444.00")] * 2, days_left=28)
    assert answer.mid is None
    assert answer.method == "calendar"


def test_fees_alone_are_known_from_the_first_day() -> None:
    answer = forecast(fixed=D("1728.00"), daily=[], days_left=29)
    assert answer.mid == D("1728.00")


def test_the_last_day_is_what_was_spent() -> None:
    answer = forecast(fixed=D(0), daily=[D(1), D(2), D(9)], days_left=0)
    assert (answer.low, answer.mid, answer.high) == (D("12.00"),) * 3


def test_a_quiet_weekend_is_foreseen() -> None:
    week = [D(100)] * 5 + [D(0)] * 2
    answer = forecast(fixed=D(0), daily=week * 4, days_left=7, spent=D(0), weekday_next=0)
    assert (answer.method, answer.mid) == ("weekday", D("500.00"))
    tail = forecast(fixed=D(0), daily=week * 4, days_left=5, spent=D(0), weekday_next=0)
    assert tail.mid == D("500.00")


days = st.lists(st.integers(0, 1000).map(D), min_size=3, max_size=40)


@given(days, st.integers(0, 31), st.integers(0, 5000).map(D))
def test_the_band_holds_the_middle_and_what_is_spent(daily: list[D], left: int, fixed: D) -> None:
    answer = forecast(fixed=fixed, daily=daily, days_left=left)
    assert fixed + sum(daily) <= answer.low <= answer.mid <= answer.high


@pytest.mark.parametrize(
    ("actual", "expected", "found"),
    [("105", "100", "minor"), ("120", "100", "major"), ("150", "100", "critical")],
)
def test_above_the_forecast(actual: str, expected: str, found: str) -> None:
    anomaly = by_use(D(actual), D(expected), D(1))
    assert anomaly is not None
    assert anomaly.severity == found


def test_impact_of_five_percent() -> None:
    anomaly = by_use(D(105), D(100), D(1))
    assert anomaly is not None
    assert (anomaly.impact, anomaly.share) == (D(5), D("0.050000"))


def test_growth_of_a_subscription() -> None:
    assert by_subscription(D(120), D(100), D(1)) is None
    anomaly = by_subscription(D(121), D(100), D(1))
    assert anomaly is not None
    assert anomaly.severity == "major"


def test_under_the_floor_is_no_anomaly() -> None:
    assert by_use(D("1.90"), D(1), D(1)) is None


def test_plus_and_minus_a_hundred_are_seen_per_project() -> None:
    found = [by_use(D(actual), D(200), D(1)) for actual in (300, 100)]
    assert [f is not None for f in found] == [True, False]
    assert by_use(D(400), D(400), D(1)) is None  # summed first, nothing is seen
