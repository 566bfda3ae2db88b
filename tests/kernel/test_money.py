"""Amounts, rounding and splits: worked figures, then the properties behind them."""

from decimal import Decimal as D
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.kernel.money import (
    ROUNDING_MODES,
    CurrencyMismatch,
    Money,
    apportion,
    currency_places,
    round_exact,
    split,
)

cents = st.integers(-(10**9), 10**9).map(lambda n: D(n).scaleb(-2))
weights = st.lists(st.integers(0, 10**6), min_size=1, max_size=20).filter(any)


def test_places_follow_iso_4217():
    assert [currency_places(code) for code in ("CNY", "USD", "JPY", "KWD")] == [
        2,
        2,
        0,
        3,
    ]


@pytest.mark.parametrize("code", ["RMB", "cny", "", "XXXX"])
def test_an_unknown_currency_is_refused(code):
    with pytest.raises(ValueError, match="ISO 4217"):
        Money(D(1), code)


@pytest.mark.parametrize(
    ("value", "mode", "result"),
    [
        ("0.125", "half_up", "0.13"),
        ("0.125", "half_even", "0.12"),
        ("0.135", "half_even", "0.14"),
        ("0.129", "down", "0.12"),
        ("-0.125", "half_up", "-0.13"),
        ("-0.129", "down", "-0.12"),
        ("0.005", "half_up", "0.01"),
        ("-0.004", "half_up", "0.00"),
    ],
)
def test_rounding_modes(value, mode, result):
    assert str(round_exact(D(value), 2, mode)) == result


def test_an_exact_fraction_is_rounded_once():
    assert round_exact(Fraction(2304 * 9, 31), 2) == D("668.90")
    assert str(round_exact(Fraction(10**30, 3), 2)) == "3" * 30 + ".33"


def test_currencies_do_not_mix():
    for act in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a < b):
        with pytest.raises(CurrencyMismatch):
            act(Money(D(10), "USD"), Money(D(10), "CHF"))


@pytest.mark.parametrize("bad", [D("NaN"), D("Infinity")])
def test_an_amount_is_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        Money(bad, "CNY")


def test_floats_are_refused():
    with pytest.raises(TypeError):
        Money(1.5, "CNY")
    with pytest.raises(TypeError):
        Money(D(1), "CNY") * 0.1


def test_sums_are_exact_beyond_the_default_precision():
    large = Money(D("12345678901234567890123456789.01"), "CNY")
    assert (large + Money(D("0.01"), "CNY")).amount == D("12345678901234567890123456789.02")


def amounts(parts):
    return [str(part.amount) for part in parts.values()]


def test_worked_splits():
    assert amounts(split(Money(D("14.80"), "CNY"), [1, 1, 1], "abc")) == [
        "4.94",
        "4.93",
        "4.93",
    ]
    assert amounts(split(Money(D("0.05"), "CNY"), [3, 7], "ab")) == ["0.02", "0.03"]
    assert amounts(split(Money(D("100.00"), "CNY"), [1, 1, 1], "abc")) == [
        "33.34",
        "33.33",
        "33.33",
    ]
    assert amounts(split(Money(D("-100.00"), "CNY"), [1, 1, 1], "abc")) == [
        "-33.34",
        "-33.33",
        "-33.33",
    ]


@pytest.mark.parametrize("bad", [[0, 0], [1, -1], [1]])
def test_weights_that_divide_nothing_are_refused(bad):
    with pytest.raises(ValueError):
        split(Money(D(1), "CNY"), bad, ["a", "b"])


def test_an_amount_finer_than_the_places_is_not_split():
    with pytest.raises(ValueError, match="decimals"):
        split(Money(D("0.001"), "CNY"), [1], ["a"])


@given(cents, weights)
def test_a_split_loses_no_cent_and_strays_less_than_one(amount, shares):
    parts = split(Money(amount, "CNY"), shares, range(len(shares)))
    assert sum(part.amount for part in parts.values()) == amount
    for share, part in zip(shares, parts.values(), strict=True):
        exact = Fraction(amount) * share / sum(shares)
        assert abs(Fraction(part.amount) - exact) < Fraction(1, 100)
        assert share or not part


@given(cents, weights, st.randoms())
def test_the_order_of_the_keys_does_not_matter(amount, shares, random):
    pairs = list(enumerate(shares))
    ordered = split(Money(amount, "CNY"), shares, range(len(shares)))
    random.shuffle(pairs)
    assert split(Money(amount, "CNY"), [w for _, w in pairs], [k for k, _ in pairs]) == ordered


@given(cents, weights)
def test_a_reversal_mirrors_the_split(amount, shares):
    keys = range(len(shares))
    there = split(Money(amount, "CNY"), shares, keys)
    back = split(Money(-amount, "CNY"), shares, keys)
    assert all(not (there[key] + back[key]) for key in keys)


@given(
    st.lists(st.fractions(-1000, 1000), min_size=1, max_size=12),
    st.sampled_from(ROUNDING_MODES),
)
def test_signed_shares_add_up_to_the_rounded_sum(shares, mode):
    total = round_exact(sum(shares), 2, mode)
    parts = apportion(shares, total, 2)
    assert sum(parts) == total
    assert all(abs(Fraction(p) - s) <= Fraction(1, 100) for p, s in zip(parts, shares, strict=True))
