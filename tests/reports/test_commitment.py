"""The commitment mix against brute force, and the worked figures."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from governance.reports.domain.commitment import (
    Month,
    Prices,
    advise,
    backtest,
    cheapest_mix,
    cost_of,
)

A800 = Prices(Decimal("14.80"), Decimal("7992.00"), Decimal("76723.20"))


def demand_of(hours_by_level: list[int], length: int) -> list[int]:
    """A demand in which level k is in use for its number of hours."""
    return [sum(1 for used in hours_by_level if hour < used) for hour in range(length)]


def test_fourteen_cards_in_a_month_of_720_hours() -> None:
    """6 annual, 3 monthly, the rest by the hour: 6 x 6,393.60 + 3 x 7,992.00 + 1,439 x 14.80."""
    levels = [720, 720, 716, 708, 694, 668, 633, 590, 548, 470, 391, 300, 186, 92]
    mix = cheapest_mix([Month(demand_of(levels, 720))], Prices(A800.hourly, A800.monthly, None))
    assert mix.monthly == (9,)
    both = cheapest_mix([Month(demand_of(levels, 720))], A800)
    # level 10 is busy for 470 h, more than the 432 h from which a year pays
    assert (both.annual, both.monthly) == (10, (0,))
    assert cost_of([Month(demand_of(levels, 720))], A800, annual=6, monthly=3) == Fraction(
        Decimal("83634.80")
    )
    assert both.all_hourly == Fraction(Decimal("14.80")) * sum(levels)


prices = st.builds(
    Prices,
    st.integers(1, 20).map(Decimal),
    st.none() | st.integers(1, 100).map(Decimal),
    st.none() | st.integers(1, 600).map(Decimal),
)
months = st.lists(
    st.builds(Month, st.lists(st.integers(0, 4), min_size=1, max_size=8)), min_size=1, max_size=3
)


@given(months, prices)
@settings(max_examples=200)
def test_no_mix_is_cheaper(demand: list[Month], price: Prices) -> None:
    best = None
    for annual in range(5 if price.annual is not None else 1):
        cost = Fraction(0)
        for month in demand:
            cost += min(
                cost_of([month], price, annual=annual, monthly=monthly)
                for monthly in range(5 if price.monthly is not None else 1)
            )
        best = cost if best is None else min(best, cost)
    mix = cheapest_mix(demand, price)
    assert mix.cost == best
    assert mix.cost <= mix.all_hourly
    assert mix.saving == mix.all_hourly - mix.cost


@given(months, prices)
def test_the_mix_says_what_it_costs(demand: list[Month], price: Prices) -> None:
    mix = cheapest_mix(demand, price)
    paid = sum(
        (
            cost_of([m], price, annual=mix.annual, monthly=n)
            for m, n in zip(demand, mix.monthly, strict=True)
        ),
        Fraction(0),
    )
    assert paid == mix.cost
    assert mix.committed_used <= mix.committed_hours
    if mix.utilisation is not None:
        assert 0 <= mix.utilisation <= 1


@given(months, months, prices)
def test_advice_is_the_smaller_of_both_windows(
    short: list[Month], long: list[Month], price: Prices
) -> None:
    advice = advise(short, long, price)
    assert advice.annual <= min(advice.short.annual, advice.long.annual)
    assert advice.annual + advice.monthly <= advice.long.annual + advice.long.always_monthly


def test_backtest_of_a_demand_that_stays() -> None:
    steady = [Month([4] * 700) for _ in range(3)]
    result = backtest(steady, steady, A800)
    assert (result.annual, result.monthly) == (4, 0)
    assert result.cost == result.hindsight == Fraction(Decimal("76723.20")) / 12 * 3 * 4
    assert result.saved == Fraction(Decimal("14.80")) * 4 * 700 * 3 - result.cost


def test_backtest_of_a_demand_that_ends_says_the_loss() -> None:
    busy, quiet = [Month([4] * 700)] * 3, [Month([0] * 700)] * 3
    result = backtest(busy, quiet, A800)
    assert result.saved == -Fraction(Decimal("76723.20"))  # 4 x 3/12 of a year


def test_no_commitment_offered_is_hourly() -> None:
    mix = cheapest_mix([Month([2] * 10)], Prices(Decimal(1)))
    assert (mix.annual, mix.monthly, mix.coverage) == (0, (0,), 0)
