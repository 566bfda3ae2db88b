"""Vendors' rule sets, own machines, allocation: worked figures of public reports."""

from datetime import timedelta
from decimal import Decimal as D
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.kernel.money import Money
from governance.rentals.domain.allocation import Resource, allocate
from governance.rentals.domain.charges import listed_lines
from governance.rentals.domain.own import OwnMachine, hourly_price, scale_parts
from governance.rentals.domain.terms import Terms
from governance.rentals.domain.vendors import rule_sets
from tests.rentals.terms import SHANGHAI, at, shown


def terms_by(name, kind, price, start, end=None, quantity=1):
    rules = rule_sets()[name]
    plan = rules.plan(kind, D(price), places=2)
    return Terms(
        currency="CNY", zone=SHANGHAI, plan=plan, start=rules.begins(at(start)),
        end=None if end is None else at(end), quantity=quantity,
    )  # fmt: skip


def test_every_rule_set_prices_each_of_its_kinds():
    assert {"plain", "aliyun-reserved", "huawei-pool", "autodl", "tencent-by-months"} <= set(
        rule_sets()
    )
    for name, rules in rule_sets().items():
        assert rules.source
        for kind in rules.kinds:
            lines = listed_lines(
                terms_by(name, kind, "10.00", "2026-01-05 10:17:30"), at("2026-03-01")
            )
            assert lines[0].amount > 0
            rules.termination(monthly=D(10), hourly=D(1), listed=D(10))
    with pytest.raises(ValueError, match="not hourly"):
        rule_sets()["aliyun-reserved"].plan("hourly", D(1), places=2)


def test_a_reserved_instance_of_a_year_lasts_8762_hours():
    (line,) = listed_lines(
        terms_by("aliyun-reserved", "annual", "1", "2020-05-01 22:45:00"), at("2020-06-01")
    )
    assert line.period.start == at("2020-05-01 22:00")
    assert line.period.end == at("2021-05-02")
    assert line.period.hours == 8762


def test_a_pool_bought_in_march_ends_at_the_end_of_the_day():
    lines = listed_lines(
        terms_by("huawei-pool", "monthly", "1750", "2023-03-08 15:50:04", quantity=2),
        at("2023-05-01"),
    )
    assert [line.period.end for line in lines] == [at("2023-04-09"), at("2023-05-09")]
    assert shown(lines) == ["3500.00", "3500.00"]


def test_hourly_vendors_cut_at_the_hour():
    span = ("2026-01-05 10:17:30", "2026-01-05 12:05:10")
    assert shown(listed_lines(terms_by("autodl", "hourly", "3.20", *span))) == [
        "2.27",
        "3.20",
        "0.28",
    ]
    assert shown(listed_lines(terms_by("aliyun-ecs", "hourly", "3.20", *span))) == [
        "2.26",
        "3.20",
        "0.27",
    ]
    assert shown(listed_lines(terms_by("baidu", "hourly", "3.20", *span))) == [
        "2.29",
        "3.20",
        "0.32",
    ]
    brief = terms_by("autodl", "hourly", "3.20", "2026-01-05 10:00:00", "2026-01-05 10:00:01")
    assert shown(listed_lines(brief)) == ["0.01"]


def test_an_own_machine_is_never_free():
    machine = OwnMachine(D("240000"), D("24000"), 36, D("2"), D("0.80"), D("500"), 8)
    expected = (Fraction(216000, 36) + 500) / 730 / 8 + Fraction(16, 10) / 8
    assert hourly_price(machine) == expected
    with pytest.raises(ValueError, match="more than nothing"):
        hourly_price(OwnMachine(D(10), D(10), 12, D(0), D(1), D(0)))
    with pytest.raises(ValueError, match="residual"):
        hourly_price(OwnMachine(D(10), D(11), 12, D(0), D(1), D(0)))


def test_parts_of_a_node_scale_to_its_price():
    parts = {"cpu": D(30), "gpu": D(30), "memory": D(10)}
    assert scale_parts(parts, D(35)) == {"cpu": 15, "gpu": 15, "memory": 5}


cents = st.integers(0, 10**7)


def yuan(text):
    return Money(D(text), "CNY")


def test_custom_part_prices_add_up():
    hour = D("8") * D("0.20") + D("64") * D("0.05") + D("1") * D("14.80")
    assert hour == D("19.60")
    assert hour * 24 == D("470.40")
    assert D(0) * D("14.80") == 0


def test_idle_is_what_nobody_used():
    node = Resource("node", yuan("286.00"), Fraction(100), {"a": Fraction(35)})
    shown_ = allocate([node], "CNY", "show")
    assert shown_.by_user == {"a": yuan("100.10")}
    assert shown_.idle == yuan("185.90")
    shared = allocate([node], "CNY", "share")
    assert shared.by_user == {"a": yuan("286.00")}
    assert not shared.idle


def test_workloads_and_idle_make_the_node():
    exact = D("0.0384") * 7
    assert exact == D("0.2688")
    assert exact - D("0.13") == D("0.1388")


def test_an_unpriced_node_is_named_and_makes_no_idle_negative():
    resources = [
        Resource("A", yuan("100"), Fraction(100), {"pods": Fraction(60)}),
        Resource("B", None, Fraction(100), {"pods": Fraction(30)}),
    ]
    result = allocate(resources, "CNY", "show")
    assert result.idle == yuan("40.00")
    assert result.unpriced == ("B",)


@given(
    st.lists(
        st.tuples(cents, st.integers(0, 100), st.lists(st.integers(0, 60), max_size=4)),
        min_size=1, max_size=5,
    ),
    st.sampled_from(["hide", "show", "share"]),
)  # fmt: skip
def test_allocation_loses_no_cent_and_idle_is_never_negative(rows, choice):
    resources = [
        Resource(
            str(i), Money(D(cost).scaleb(-2), "CNY"), Fraction(capacity),
            {f"u{j}": Fraction(amount) for j, amount in enumerate(used)},
        )
        for i, (cost, capacity, used) in enumerate(rows)
    ]  # fmt: skip
    result = allocate(resources, "CNY", choice)
    total = sum((money.amount for money in result.by_user.values()), result.idle.amount)
    assert total == sum((r.cost.amount for r in resources), D(0))
    assert result.idle.amount >= 0
    assert all(money.amount >= 0 for money in result.by_user.values())


def test_days_of_a_rule_set_start_exactly_where_they_should():
    rules = rule_sets()["plain"]
    assert rules.begins(at("2026-01-01 10:30")) == at("2026-01-01 10:30")
    assert at("2026-01-02") - at("2026-01-01") == timedelta(days=1)
