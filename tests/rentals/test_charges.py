"""Charges by worked figures from public price rules and fault reports."""

import itertools
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal as D
from fractions import Fraction

import pytest

from governance.kernel.money import Money, round_exact, split
from governance.kernel.periods import Period, local_date
from governance.rentals.domain.charges import due_lines, listed_lines
from governance.rentals.domain.posting import entries, preview_entries
from governance.rentals.domain.taxes import tax_of, totals, with_tax
from governance.rentals.domain.termination import (
    TerminationRule,
    UsedTerm,
    downgrade_refund,
    refund,
    upgrade_by_hours,
    upgrade_by_term,
)
from governance.rentals.domain.terms import Change, EndChange, Tax
from tests.rentals.terms import SHANGHAI, at, shown, sums, terms


def test_a_month_charged_once_up_to_a_known_end_then_repriced():
    change = Change(at("2026-02-01"), D("4000.00"), 1)
    plan = terms("monthly", "2304.00", "2026-01-25", "2026-02-03", changes=[change])
    assert shown(listed_lines(plan)) == ["668.90", "-148.64", "258.06"]
    by_calendar = replace(plan, plan=replace(plan.plan, anchor="calendar"))
    assert shown(listed_lines(by_calendar)) == ["520.26", "285.71"]
    assert sums(listed_lines(by_calendar)) == D("805.97")


def test_billing_day_31_neither_drifts_nor_vanishes():
    plan = terms("monthly", "2304.00", "2025-01-31")
    lines = listed_lines(plan, at("2026-01-31"))
    starts = [f"{local_date(line.period.start, SHANGHAI):%m-%d}" for line in lines]
    assert starts[:5] == ["01-31", "02-28", "03-31", "04-30", "05-31"]
    assert len(lines) == 12
    assert sums(lines) == D("27648.00")
    assert all(a.period.end == b.period.start for a, b in itertools.pairwise(lines))
    assert local_date(lines[-1].period.end, SHANGHAI) == date(2026, 1, 31)


@pytest.mark.parametrize(
    ("start", "end", "proration", "amount"),
    [
        ("2025-02-26", "2025-03-01", "actual", "964.29"),
        ("2020-02-27", "2020-03-01", "actual", "931.03"),
        ("2020-02-02", "2020-03-01", "actual", "8689.66"),
        ("2025-02-26", "2025-03-01", "fixed30", "900.00"),
        ("2020-02-27", "2020-03-01", "fixed30", "900.00"),
    ],
)
def test_part_of_february(start, end, proration, amount):
    plan = terms("monthly", "9000.00", start, end, anchor="calendar", proration=proration)
    assert shown(listed_lines(plan)) == [amount]


def test_cancelled_just_after_local_midnight():
    """15 February 00:30 in Shanghai is 14 February in UTC; the started day is the customer's."""
    plan = terms("monthly", "2800.00", "2025-02-01", basis="day")
    ended = plan.with_end(at("2025-02-15 00:30"), known_at=at("2025-02-15 00:30"), rule=None)
    assert shown(listed_lines(ended)) == ["2800.00", "-1300.00"]
    known = replace(plan, end=at("2025-02-15 00:30"))
    assert shown(listed_lines(known)) == ["1500.00"]


@pytest.mark.parametrize(
    ("change_day", "moment", "net"),
    [
        ("old", "2025-10-11", "5200.00"),
        ("old", "2025-10-11 09:00", "5100.00"),
        ("new", "2025-10-11 09:00", "5200.00"),
    ],
)
def test_the_change_day_is_billed_once(change_day, moment, net):
    plan = terms(
        "monthly", "3100.00", "2025-10-01", "2025-11-01",
        basis="day", change_day=change_day, changes=[Change(at(moment), D("6200.00"))],
    )  # fmt: skip
    lines = listed_lines(plan)
    assert sums(lines) == D(net)
    assert sum(line.quantity for line in lines) == 1


def test_hour_charges_of_a_month_edge():
    plan = terms("hourly", "14.80", "2026-02-01 00:30", "2026-02-01 01:30", bill="month")
    (line,) = listed_lines(plan)
    assert line.amount == D("14.80")
    assert local_date(line.period.start, SHANGHAI).month == 2


def test_pro_rata_by_calendar_and_by_anchor():
    by_calendar = terms("monthly", "3100.00", "2026-01-25", "2026-02-03", anchor="calendar")
    assert shown(listed_lines(by_calendar)) == ["700.00", "221.43"]
    assert sums(listed_lines(by_calendar)) == D("921.43")
    assert shown(listed_lines(terms("monthly", "3100.00", "2026-01-25", "2026-02-03"))) == [
        "900.00"
    ]
    for anchor in ("start", "calendar"):
        year = terms("monthly", "3100.00", "2026-08-03", "2027-08-03", anchor=anchor)
        assert sums(listed_lines(year)) == D("37200.00")


def test_billing_by_the_hour_rounds_more_often():
    plan = terms("hourly", "3.20", "2026-01-05 10:17:30", "2026-01-05 12:05:10")
    assert shown(listed_lines(plan)) == ["5.74"]
    by_hour = replace(plan, plan=replace(plan.plan, bill="hour"))
    assert shown(listed_lines(by_hour)) == ["2.27", "3.20", "0.28"]


@pytest.mark.parametrize(
    ("settlement", "amount"), [("second", "5.74"), ("minute", "5.76"), ("hour", "6.40")]
)
def test_a_started_unit_counts_whole(settlement, amount):
    plan = terms(
        "hourly", "3.20", "2026-01-05 10:17:30", "2026-01-05 12:05:10", settlement=settlement
    )
    assert shown(listed_lines(plan)) == [amount]


def test_one_huge_quantity_of_tiny_prices_is_rounded_once():
    plan = terms("hourly", "0.001", "2026-01-01", "2026-01-05 04:00")
    assert shown(listed_lines(plan)) == ["0.10"]
    year = terms("annual", "128000.00", "2026-01-01", "2027-01-01")
    assert shown(listed_lines(year)) == ["128000.00"]
    tiny = terms("hourly", "0.0001", "2026-01-01", "2026-01-02", quantity=1000)
    assert shown(listed_lines(tiny)) == ["2.40"]


def test_a_price_rise_leaves_the_months_before_alone():
    rise = Change(at("2026-02-15"), D("6000.00"))
    plan = terms("monthly", "3000.00", "2026-01-01", "2026-03-01", changes=[rise])
    lines = listed_lines(plan)
    assert shown(lines) == ["3000.00", "3000.00", "-1500.00", "3000.00"]
    assert lines[0].period == Period(at("2026-01-01"), at("2026-02-01"))


def test_no_proration_charges_a_cut_period_in_full_and_changes_wait():
    plan = terms(
        "monthly", "900.00", "2026-01-20", "2026-03-05", anchor="calendar", proration="none",
        changes=[Change(at("2026-02-10"), D("1200.00"))],
    )  # fmt: skip
    assert shown(listed_lines(plan)) == ["900.00", "900.00", "1200.00"]


def test_fixed_denominators():
    quarter = terms("quarterly", "9000.00", "2026-01-01", "2026-01-16", proration="fixed30")
    assert shown(listed_lines(quarter)) == ["1500.00"]
    year = terms("annual", "36000.00", "2026-01-01", "2026-01-16", proration="fixed30")
    assert shown(listed_lines(year)) == ["1500.00"]
    long_part = terms("monthly", "3000.00", "2026-01-01", "2026-01-31 12:00", proration="fixed30")
    assert shown(listed_lines(long_part)) == ["3000.00"]


def test_quantity_and_rounding_modes():
    for mode, amount in (("half_up", "0.13"), ("half_even", "0.12"), ("down", "0.12")):
        plan = terms("monthly", "0.125", "2026-01-01", "2026-02-01", rounding=mode)
        assert shown(listed_lines(plan)) == [amount]


def test_minimum_charge():
    plan = terms("hourly", "0.10", "2026-01-01", "2026-01-01 00:00:05", minimum=D("0.01"))
    assert shown(listed_lines(plan)) == ["0.01"]
    free = terms("hourly", "0", "2026-01-01", "2026-01-02", minimum=D("0.01"))
    assert shown(listed_lines(free)) == ["0.00"]


def test_terms_that_end_at_the_end_of_the_day():
    """A pool bought 2023-03-08 15:50:04 runs to 2023-04-08 23:59:59, then to 05-08 23:59:59."""
    plan = terms("monthly", "1750.00", "2023-03-08 15:50:04", quantity=2, day_end=True)
    first, second = listed_lines(plan, at("2023-05-01"))
    assert first.period.end == at("2023-04-09")
    assert second.period.end == at("2023-05-09")
    assert first.period.elapsed == timedelta(days=31, hours=8, minutes=9, seconds=56)
    assert shown([first, second]) == ["3500.00", "3500.00"]
    reserved = terms("annual", "1.00", "2020-05-01 22:00:00", day_end=True)
    (year,) = listed_lines(reserved, at("2020-05-02"))
    assert year.period.hours == 8762


def test_a_year_paid_by_the_month_adds_up_to_the_year():
    plan = terms("annual", "100000.00", "2026-09-01", "2027-09-01", instalments=True)
    lines = listed_lines(plan)
    assert len(lines) == 12
    assert sums(lines) == D("100000.00")
    assert set(shown(lines)) == {"8333.34", "8333.33"}


ANNUAL = terms("annual", "102000.00", "2026-07-01")


def ended(rule=None, days=97):
    moment = at("2026-07-01") + timedelta(days=days)
    return ANNUAL.with_end(moment, known_at=moment, rule=rule)


def test_early_end_in_a_straight_line():
    assert shown(listed_lines(ended())) == ["102000.00", "-74893.15"]
    assert shown(listed_lines(ended(TerminationRule()))) == ["102000.00", "-74893.15"]


def test_early_end_by_whole_months_and_hours():
    rule = TerminationRule("months_and_hours", monthly=D("10000"), hourly=D("20"))
    assert shown(listed_lines(ended(rule))) == ["102000.00", "-69600.00"]


def test_early_end_without_refund():
    assert shown(listed_lines(ended(TerminationRule("none")))) == ["102000.00"]


def test_refund_rules_never_give_back_more_than_was_paid_nor_less_than_nothing():
    used = UsedTerm(12, Fraction(0), Fraction(360), Fraction(365), Fraction(5, 365))
    rule = TerminationRule("months_and_hours", monthly=D("10000"), hourly=D("20"))
    assert refund(rule, D("102000"), used) == 0
    free = TerminationRule("daily_penalty", daily=D("0"))
    assert refund(free, D("102000"), used) == 102000


def test_young_contracts_pay_a_penalty_factor():
    used = UsedTerm(0, Fraction(0), Fraction("9.5"), Fraction(30), Fraction("20.5") / 30)
    rule = TerminationRule("daily_penalty", daily=D("100"))
    assert refund(rule, D("3000"), used) == 3000 - 100 * 10 * Fraction("1.5")
    old = replace(used, days=Fraction(31))
    assert refund(rule, D("4000"), old) == 900
    days = TerminationRule("days_used", listed=D("3000"))
    assert refund(days, D("2400"), used) == 2400 - 3000 * Fraction(10, 30)


def test_upgrades_and_downgrades_of_the_vendors():
    assert upgrade_by_hours(D("7200"), D("14400"), Fraction(1200)) == 12000
    assert upgrade_by_term(D("100"), D("160"), Fraction(5, 2), D("0.9")) == 135
    assert downgrade_refund(D("1000"), D("400"), D("100"), D("60")) == 240
    assert downgrade_refund(D("400"), D("1000"), D("100"), D("60")) == 0


def test_an_extension_charges_the_rest_of_the_cut_period():
    plan = terms("monthly", "3100.00", "2026-01-01", "2026-01-11")
    longer = plan.with_end(at("2026-02-15"), known_at=at("2026-01-05"), rule=None)
    assert shown(listed_lines(longer)) == ["1000.00", "2100.00", "1550.00"]


def test_an_early_end_recorded_late_credits_hours_already_billed():
    plan = terms("hourly", "10.00", "2026-01-01", bill="day")
    late = plan.with_end(at("2026-01-03"), known_at=at("2026-01-05 12:00"), rule=None)
    lines = listed_lines(late)
    assert shown(lines) == ["240.00"] * 4 + ["-240.00"] * 2
    assert all(line.due == at("2026-01-05 12:00") for line in lines[4:])


def test_annual_amortisation_weights():
    keys = range(12)
    days = [30, 31, 30, 31, 31, 29, 31, 30, 31, 30, 31, 31]
    parts = split(Money(D("175200.00"), "CNY"), days, keys)
    assert [f"{part.amount}" for part in parts.values()] == [
        "14360.66", "14839.35", "14360.66", "14839.34", "14839.34", "13881.97",
        "14839.34", "14360.66", "14839.34", "14360.66", "14839.34", "14839.34",
    ]  # fmt: skip
    naive = sum(round_exact(Fraction(175200) * day / 366, 2) for day in days)
    assert naive == D("175199.99")


@pytest.mark.parametrize(
    ("rate", "net", "tax"), [("0.06", "1630.19", "97.81"), ("0.13", "1529.20", "198.80")]
)
def test_inclusive_tax_keeps_the_quoted_total(rate, net, tax):
    plan = terms("monthly", "1728.00", "2026-01-01", "2026-02-01", tax=Tax(D(rate), True))
    taxed = totals(with_tax(listed_lines(plan), 2, "half_up"))
    assert (taxed.net, taxed.tax, taxed.gross) == (D(net), D(tax), D("1728.00"))


def test_inclusive_tax_on_the_sum_not_on_each_line():
    tax = Tax(D("0.19"), True)
    first = listed_lines(terms("monthly", "340.00", "2026-01-01", "2026-02-01", tax=tax))
    second = listed_lines(terms("monthly", "13.90", "2026-01-01", "2026-02-01", tax=tax))
    sums_ = totals(with_tax([*first, *second], 2, "half_up"))
    assert (sums_.net, sums_.tax, sums_.gross) == (D("297.39"), D("56.51"), D("353.90"))


def test_tax_of_entries_adds_up_to_the_tax_of_the_sum():
    tax = Tax(D("0.06"), False)
    plan = terms("daily", "0.07", "2026-01-01", "2026-04-11", tax=tax)
    made = preview_entries([("cards", plan)])
    assert len(made) == 100
    assert sum(entry.tax for entry in made) == tax_of(D("7.00"), tax, 2, "half_up") == D("0.42")
    assert {entry.tax for entry in made} == {D("0.00"), D("0.01")}
    rest = entries(
        [("cards", plan, line) for line in listed_lines(plan)[60:]],
        seen={}, quoted={("cards", tax): D("4.20")},
    )  # fmt: skip
    assert [entry.tax for entry in rest] == [entry.tax for entry in made[60:]]


def test_charges_due_in_two_runs_equal_one_run():
    change = Change(at("2026-02-01"), D("4000.00"), 1)
    plan = terms("monthly", "2304.00", "2026-01-25", "2026-04-03", changes=[change])
    whole = due_lines(plan, after=None, until=at("2026-05-01"))
    parts = due_lines(plan, after=None, until=at("2026-02-01"))
    parts += due_lines(plan, after=at("2026-02-01"), until=at("2026-05-01"))
    assert parts == whole == listed_lines(plan)


def test_a_later_end_does_not_touch_what_was_due_before():
    plan = terms("monthly", "3000.00", "2026-01-01")
    before = due_lines(plan, after=None, until=at("2026-02-10"))
    end = EndChange(at("2026-02-12"), at("2026-02-15"))
    after = due_lines(replace(plan, ends=(end,)), after=None, until=at("2026-03-10"))
    assert after[: len(before)] == before
    assert shown(after) == ["3000.00", "3000.00", "-1500.00"]
