"""Properties of the charge function: nothing lost, nothing twice, whatever the order or batch."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal as D
from fractions import Fraction
from zoneinfo import ZoneInfo

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from governance.rentals.domain.charges import due_lines, listed_lines
from governance.rentals.domain.taxes import totals, with_tax
from governance.rentals.domain.terms import Change, EndChange, Plan, Tax, Terms

zones = st.sampled_from(["Asia/Shanghai", "UTC", "America/Los_Angeles", "Asia/Kolkata"]).map(
    ZoneInfo
)
prices = st.integers(0, 10**8).map(lambda n: D(n).scaleb(-3))
starts = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)
lengths = st.integers(60, 200 * 86400).map(lambda s: timedelta(seconds=s))


@st.composite
def plans(draw, kinds=("hourly", "daily", "monthly", "quarterly", "annual")):
    return Plan(
        kind=draw(st.sampled_from(kinds)),
        price=draw(prices),
        anchor=draw(st.sampled_from(["start", "calendar"])),
        settlement=draw(st.sampled_from(["second", "minute", "hour"])),
        bill=draw(st.sampled_from(["segment", "day", "month"])),
        proration=draw(st.sampled_from(["actual", "fixed30", "none"])),
        basis=draw(st.sampled_from(["second", "hour", "day"])),
        rounding=draw(st.sampled_from(["half_up", "half_even", "down"])),
        change_day=draw(st.sampled_from(["old", "new"])),
        tax=draw(st.sampled_from([None, Tax(D("0.06"), False), Tax(D("0.13"), True)])),
    )


@st.composite
def rentals(draw, **options):
    start, length = draw(starts), draw(lengths)
    end = start + length
    spots = draw(st.lists(st.integers(1, int(length.total_seconds()) - 1), max_size=3, unique=True))
    changes = tuple(
        Change(start + timedelta(seconds=spot), draw(prices), draw(st.integers(1, 9)))
        for spot in sorted(spots)
    )
    return Terms(
        currency="CNY",
        zone=draw(zones),
        plan=draw(plans(**options)),
        start=start,
        end=end,
        quantity=draw(st.integers(1, 9)),
        changes=changes,
    )


@given(rentals())
@settings(max_examples=150)
def test_every_instant_is_charged_once(rental):
    """Charges minus credits cover the whole rental once, without gap."""
    cover = {}
    for line in listed_lines(rental):
        sign = 1 if line.kind == "charge" else -1
        cover[line.period.start] = cover.get(line.period.start, 0) + sign
        cover[line.period.end] = cover.get(line.period.end, 0) - sign
    steps = sorted(moment for moment, step in cover.items() if step)
    assume(rental.plan.basis == "second" or rental.plan.kind == "hourly")
    assert steps == [rental.start, rental.end]


@given(rentals(), st.lists(st.integers(0, 250 * 86400), max_size=6))
@settings(max_examples=150)
def test_batches_do_not_matter(rental, spots):
    """Charging daily, late or at once gives the same lines, also with an end that comes early."""
    early = EndChange(
        rental.start + (rental.end - rental.start) / 2, rental.end - timedelta(seconds=30)
    )
    rental = replace(rental, ends=(early,))
    far = rental.start + timedelta(days=400)
    whole = due_lines(rental, after=None, until=far)
    bounds = sorted(rental.start + timedelta(seconds=spot) for spot in spots)
    after, lines = None, []
    for bound in [*bounds, far]:
        lines += due_lines(rental, after=after, until=bound)
        after = bound
    assert lines == whole


@given(rentals())
@settings(max_examples=150)
def test_a_fact_recorded_later_never_rewrites_what_was_due(rental):
    known = rental.start + (rental.end - rental.start) / 2
    before = due_lines(rental, after=None, until=known)
    end = known + (rental.end - known) / 3
    revised = replace(rental, ends=(EndChange(known + timedelta(seconds=1), end),))
    assert due_lines(revised, after=None, until=known) == before


@given(rentals())
@settings(max_examples=150)
def test_credits_never_exceed_charges(rental):
    early = EndChange(rental.start, rental.start + timedelta(seconds=1))
    lines = listed_lines(replace(rental, ends=(early,)))
    running = D(0)
    for line in lines:
        running += line.amount
        assert running >= 0
        assert line.amount <= 0 if line.kind == "credit" else line.amount >= 0


@given(rentals())
@settings(max_examples=150)
def test_tax_is_rounded_once_and_no_cent_is_lost(rental):
    lines = listed_lines(rental)
    quoted = sum((line.amount for line in lines), D(0))
    taxed = totals(with_tax(lines, 2, rental.plan.rounding))
    tax = rental.plan.tax
    if tax is None:
        assert (taxed.net, taxed.tax) == (quoted, 0)
    elif tax.inclusive:
        assert taxed.gross == quoted
        assert abs(Fraction(taxed.net) * (1 + Fraction(tax.rate)) - Fraction(quoted)) < Fraction(
            2, 100
        )
    else:
        assert taxed.net == quoted
        assert abs(Fraction(taxed.tax) - Fraction(quoted) * Fraction(tax.rate)) < Fraction(1, 100)


@given(rentals(kinds=("hourly",)))
@settings(max_examples=150)
def test_cuts_of_the_bill_move_no_more_than_their_rounding(rental):
    assume(rental.plan.settlement == "second")
    fine = listed_lines(replace(rental, plan=replace(rental.plan, bill="day", rounding="half_up")))
    coarse = listed_lines(
        replace(rental, plan=replace(rental.plan, bill="segment", rounding="half_up"))
    )
    difference = sum(line.amount for line in fine) - sum(line.amount for line in coarse)
    assert abs(difference) <= D("0.005") * (len(fine) + len(coarse))


@given(rentals(kinds=("monthly",)))
@settings(max_examples=150)
def test_whole_months_cost_whole_prices(rental):
    whole = replace(rental, changes=(), plan=replace(rental.plan, anchor="start"))
    whole = replace(whole, end=whole.boundary(3))
    lines = listed_lines(whole)
    assert [line.quantity for line in lines] == [whole.quantity] * 3
