"""Half-open periods cut by the contract's clock: month ends, leap years, clock changes."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.kernel.periods import (
    UNITS,
    Period,
    add_months,
    anchored,
    anchored_periods,
    calendar_period,
    cut,
    index_at,
    local_date,
    local_days,
    local_midnight,
)

SHANGHAI = ZoneInfo("Asia/Shanghai")
LOS_ANGELES = ZoneInfo("America/Los_Angeles")
zones = st.sampled_from(
    [
        "Asia/Shanghai",
        "UTC",
        "America/Los_Angeles",
        "Europe/Berlin",
        "Asia/Kolkata",
        "America/Havana",
    ]
).map(ZoneInfo)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))


def shanghai(*parts):
    return datetime(*parts, tzinfo=SHANGHAI)


def test_boundaries_from_the_31st_do_not_drift():
    days = [
        local_date(anchored(shanghai(2025, 1, 31), "month", i, SHANGHAI), SHANGHAI)
        for i in range(13)
    ]
    assert [f"{day:%m-%d}" for day in days] == [
        "01-31", "02-28", "03-31", "04-30", "05-31", "06-30", "07-31",
        "08-31", "09-30", "10-31", "11-30", "12-31", "01-31",
    ]  # fmt: skip


def test_29_february_plus_years():
    assert add_months(date(2024, 2, 29), 12) == date(2025, 2, 28)
    assert add_months(date(2024, 2, 29), 48) == date(2028, 2, 29)


@pytest.mark.parametrize(
    ("zone", "moment", "unit", "hours"),
    [
        ("Asia/Shanghai", datetime(2026, 3, 15), "month", 744),
        ("Asia/Shanghai", datetime(2026, 11, 15), "month", 720),
        ("America/Los_Angeles", datetime(2026, 3, 15), "month", 743),
        ("America/Los_Angeles", datetime(2026, 11, 15), "month", 721),
        ("Asia/Shanghai", datetime(2028, 2, 1), "month", 696),
        ("Asia/Shanghai", datetime(2026, 5, 1), "year", 8760),
        ("Asia/Shanghai", datetime(2028, 5, 1), "year", 8784),
        ("America/Los_Angeles", datetime(2026, 3, 8, 12), "day", 23),
        ("America/Los_Angeles", datetime(2026, 11, 1, 12), "day", 25),
    ],
)
def test_hours_are_counted(zone, moment, unit, hours):
    tz = ZoneInfo(zone)
    assert calendar_period(moment.replace(tzinfo=tz), unit, tz).hours == hours


def test_a_calendar_quarter_begins_in_january_april_july_october():
    period = calendar_period(shanghai(2026, 8, 3), "quarter", SHANGHAI)
    assert period == Period(shanghai(2026, 7, 1), shanghai(2026, 10, 1))


def test_the_local_month_holds_its_first_eight_hours():
    moment = datetime(2026, 1, 31, 16, 30, tzinfo=UTC)
    assert calendar_period(moment, "month", SHANGHAI).start == shanghai(2026, 2, 1)


def test_started_local_days_count_whole():
    assert local_days(Period(shanghai(2025, 2, 1), shanghai(2025, 2, 15, 0, 30)), SHANGHAI) == 15
    assert local_days(Period(shanghai(2025, 2, 1), shanghai(2025, 2, 15)), SHANGHAI) == 14


def test_real_time_elapses_over_a_clock_change():
    period = Period(
        datetime(2026, 3, 8, 1, tzinfo=LOS_ANGELES),
        datetime(2026, 3, 8, 3, tzinfo=LOS_ANGELES),
    )
    assert period.hours == 1


def test_a_midnight_that_the_clock_skips_is_the_first_instant_of_the_day():
    tz = ZoneInfo("America/Havana")
    assert local_midnight(date(2026, 3, 8), tz).astimezone(tz).hour == 1


def test_cut_by_local_hours():
    period = Period(shanghai(2026, 1, 5, 10, 17, 30), shanghai(2026, 1, 5, 12, 5, 10))
    pieces = [piece.elapsed.total_seconds() for piece in cut(period, "hour", SHANGHAI)]
    assert pieces == [2550, 3600, 310]


@pytest.mark.parametrize("end", [shanghai(2026, 1, 1), shanghai(2025, 12, 31)])
def test_an_empty_or_backward_period_is_refused(end):
    with pytest.raises(ValueError, match="ends after it starts"):
        Period(shanghai(2026, 1, 1), end)


def test_a_time_without_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        Period(datetime(2026, 1, 1), datetime(2026, 1, 2))


@given(moments, st.sampled_from(UNITS), zones)
def test_anchored_periods_join_without_gap_or_overlap(start, unit, tz):
    for before, after in pairwise(islice(anchored_periods(start, unit, start, tz), 30)):
        assert before.end == after.start


@given(moments, moments, st.sampled_from(UNITS), zones)
def test_each_moment_lies_in_exactly_the_period_of_its_index(start, moment, unit, tz):
    i = index_at(start, unit, moment, tz)
    assert anchored(start, unit, i, tz) <= moment < anchored(start, unit, i + 1, tz)


@given(
    moments,
    st.integers(1, 400 * 86400),
    st.sampled_from(["day", "month", "quarter", "year"]),
    zones,
)
def test_pieces_add_up_to_the_whole(start, length, unit, tz):
    period = Period(start, start + timedelta(seconds=length))
    pieces = list(cut(period, unit, tz))
    assert pieces[0].start == period.start and pieces[-1].end == period.end
    assert all(a.end == b.start for a, b in pairwise(pieces))
    assert sum((piece.hours for piece in pieces), Fraction(0)) == period.hours
