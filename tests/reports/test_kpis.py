"""The key figures: each with its worked example, and the properties that hold for any usage."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.reports.domain.kpis import KPIS, break_even_months, quantile
from governance.reports.domain.usage import BINS, Usage, Weighted, together


@pytest.mark.parametrize("key", sorted(KPIS))
def test_worked_example(key: str) -> None:
    entry = KPIS[key]
    inputs, expected = entry.example
    assert entry.function(**inputs) == pytest.approx(expected), entry.formula


@pytest.mark.parametrize("key", sorted(KPIS))
def test_entry_says_what_it_is(key: str) -> None:
    entry = KPIS[key]
    assert all([entry.name, entry.formula, entry.unit, entry.window, entry.coverage])


EMPTY = Usage(source="nvml_gpm", fidelity="dram_bw")
OF_USAGE = [k for k in KPIS.values() if list(k.example[0]) == ["usage"]]


@pytest.mark.parametrize("entry", OF_USAGE, ids=lambda entry: entry.key)
def test_unknown_is_never_zero(entry: object) -> None:
    assert entry.function(EMPTY) is None  # type: ignore[attr-defined]


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    histogram = draw(st.lists(st.integers(0, 500), min_size=BINS, max_size=BINS))
    active = sum(histogram)
    samples = active + draw(st.integers(0, 500))
    held = draw(st.integers(1, 10_000))
    return Usage(
        source="nvml_gpm",
        fidelity="dram_bw",
        cards=1,
        held_minutes=held,
        known_minutes=draw(st.integers(0, held)),
        samples=samples,
        active_samples=active,
        bandwidth=Weighted(draw(st.floats(0, 1)) * samples, samples),
        bandwidth_active=Weighted(draw(st.floats(0, 1)) * active, active),
        bandwidth_max=draw(st.none() | st.floats(0, 1)),
        histogram=tuple(histogram),
        sm=Weighted(draw(st.floats(0, 1)) * samples, samples),
    )


@given(usages())
def test_shares_stay_between_nothing_and_all(usage: Usage) -> None:
    for entry in OF_USAGE:
        value = entry.function(usage)
        if entry.unit == "share" and value is not None:
            assert 0 <= value <= 1 + 1e-12


@given(usages(), usages())
def test_the_sum_lies_between_its_parts(one: Usage, two: Usage) -> None:
    for key in ("bandwidth_share_mean", "active_share", "coverage", "under_30_time_share"):
        parts = [KPIS[key].function(u) for u in (one, two)]
        known = [p for p in parts if p is not None]
        whole = KPIS[key].function(one + two)
        if known:
            assert min(known) - 1e-9 <= whole <= max(known) + 1e-9
        else:
            assert whole is None


@given(st.lists(usages(), max_size=5))
def test_no_order_of_adding_changes_the_answer(parts: list[Usage]) -> None:
    there, back = together(parts), together(reversed(parts))
    assert there.keys() == back.keys()
    for source, usage in there.items():
        assert usage.histogram == back[source].histogram
        assert usage.active_samples == back[source].active_samples
        assert usage.bandwidth.mean == pytest.approx(back[source].bandwidth.mean)


def test_two_sources_never_mix() -> None:
    with pytest.raises(ValueError, match="two metric sources"):
        EMPTY + Usage(source="nvml_duty", fidelity="duty_bound")


@given(st.lists(st.integers(0, 100), min_size=BINS, max_size=BINS), st.floats(0.01, 0.98))
def test_quantiles_grow(histogram: list[int], q: float) -> None:
    low, high = quantile(histogram, q), quantile(histogram, q + 0.01)
    assert (low is None) == (high is None) == (not sum(histogram))
    if low is not None and high is not None:
        assert 0 <= low <= high <= 1


def test_a_long_way_to_break_even_is_none() -> None:
    assert break_even_months(Decimal(13), Decimal(1)) is None
    assert break_even_months(Decimal(12), Decimal(1)) is None
    assert break_even_months(Decimal("11.99"), Decimal(1)) == 12
