"""Holds on budgets: what fits, what is refused and why, what comes back."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.budgets import queries, services
from governance.budgets.models import Budget, BudgetEntry, Hold
from governance.kernel.errors import Denied, Invalid, Refused
from governance.kernel.money import Money
from governance.kernel.periods import Period
from governance.kernel.policy import SYSTEM
from governance.plumbing.models import AuditEvent, OutboxEvent
from tests.budgets.make import NOVEMBER, NOW, SHANGHAI, budget, figures, hold, spend, yuan


def test_a_hold_counts_against_project_team_and_cost_centre(house):
    own = budget("10000", project_id=house.project.pk)
    team = budget("50000", team_id=house.team.pk)
    centre = budget("90000", cost_centre_id=house.project.cost_centre_id)
    other = budget("10000", team_id=house.other_team.pk)
    hold(house.project, "6000.00", "a")
    assert [figures(b) for b in (own, team, centre)] == [("6000", "0")] * 3
    assert figures(other) == ("0", "0")
    assert AuditEvent.objects.filter(act="budgets.hold").count() == 1


def test_what_does_not_fit_is_refused_with_the_figures(house):
    own = budget("10000", project_id=house.project.pk)
    hold(house.project, "6000.00", "a")
    with pytest.raises(Refused) as refused:
        hold(house.project, "6000.00", "b")
    params = refused.value.reason.params
    assert (params["limit"], params["held"], params["free"], params["asked"]) == (
        "10000", "6000", "4000", "6000",
    )  # fmt: skip
    assert figures(own) == ("6000", "0")
    assert Hold.objects.count() == 1
    hold(house.project, "4000.00", "c")
    assert figures(own) == ("10000", "0")


def test_the_first_request_of_an_empty_project_does_not_slip_through(house):
    budget("1000", project_id=house.project.pk)
    with pytest.raises(Refused):
        hold(house.project, "5000.00", "a")


def test_the_second_of_two_limits_also_counts(house):
    own = budget("10000", project_id=house.project.pk)
    budget("1000", team_id=house.team.pk)
    with pytest.raises(Refused, match="Vision"):
        hold(house.project, "5000.00", "a")
    assert figures(own) == ("0", "0")


def test_without_any_budget_nothing_is_approved(house):
    with pytest.raises(Refused) as refused:
        hold(house.project, "1.00", "a")
    assert refused.value.reason.code == "no_budget"


def test_actual_cost_leaves_less(house):
    own = budget("20000", project_id=house.project.pk)
    spend(house.project, "11000.00")
    hold(house.project, "5000.00", "a")
    assert figures(own) == ("5000", "11000")
    assert tuple(queries.position(own)) == (20000, 5000, 11000, 4000)


def test_a_commitment_is_used_by_charges_and_the_rest_comes_back(house):
    own = budget("20000", project_id=house.project.pk)
    hold(house.project, "6000.00", "a")
    spend(house.project, "4500.00", key="a")
    assert figures(own) == ("1500", "4500")
    services.release_hold(actor=SYSTEM, key="a", now=NOW)
    services.release_hold(actor=SYSTEM, key="a", now=NOW)
    assert figures(own) == ("0", "4500")
    kinds = list(BudgetEntry.objects.order_by("pk").values_list("kind", flat=True))
    assert kinds == ["placed", "spent", "consumed", "released"]
    assert queries.faults() == []


def test_costs_beyond_the_hold_are_counted_all_the_same(house):
    own = budget("1000", project_id=house.project.pk)
    hold(house.project, "900.00", "a")
    spend(house.project, "1200.00", key="a")
    assert figures(own) == ("0", "1200")


def test_the_same_key_holds_once(house):
    own = budget("10000", project_id=house.project.pk)
    assert hold(house.project, "6000.00", "a") == hold(house.project, "6000.00", "a")
    assert figures(own) == ("6000", "0")
    with pytest.raises(Invalid):
        hold(house.project, "6001.00", "a")


def test_a_hold_is_divided_over_months_by_time_and_never_shrinks(house):
    november = budget("10000", project_id=house.project.pk)
    december = budget("10000", project_id=house.project.pk, first_day=date(2026, 12, 1))
    year = budget("99999", team_id=house.team.pk, unit="year", first_day=date(2026, 1, 1))
    period = Period(datetime(2026, 11, 21, tzinfo=SHANGHAI), datetime(2026, 12, 6, tzinfo=SHANGHAI))
    hold(house.project, "1000.00", "a", period=period)
    assert figures(november) == ("666.67", "0")
    assert figures(december) == ("333.33", "0")
    assert figures(year) == ("1000", "0")
    beyond = Period(datetime(2026, 12, 31, tzinfo=SHANGHAI), datetime(2027, 3, 1, tzinfo=SHANGHAI))
    hold(house.project, "500.00", "b", period=beyond)
    assert figures(december) == ("833.33", "0")


def test_a_hold_of_one_month_is_used_by_a_charge_of_the_next(house):
    november = budget("10000", project_id=house.project.pk)
    december = budget("10000", project_id=house.project.pk, first_day=date(2026, 12, 1))
    hold(house.project, "1000.00", "a")
    later = Period(datetime(2026, 12, 1, tzinfo=SHANGHAI), datetime(2026, 12, 2, tzinfo=SHANGHAI))
    spend(house.project, "400.00", key="a", period=later)
    assert figures(november) == ("600", "0")
    assert figures(december) == ("0", "400")


def test_budgets_count_net_or_gross_as_they_say(house):
    gross = budget("10000", project_id=house.project.pk)
    net = budget("10000", team_id=house.team.pk, with_tax=False)
    spend(house.project, "106.00", net="100.00")
    assert figures(gross) == ("0", "106")
    assert figures(net) == ("0", "100")


def test_overdraft_is_finance_with_reason_and_end(house):
    own = budget("1000", project_id=house.project.pk)
    options = {"budget_id": own.pk, "amount": Decimal(500), "now": NOW}
    with pytest.raises(Denied):
        services.grant_overdraft(
            actor=house.approver, reason="x", expires_at=NOW + timedelta(days=1), **options
        )
    for reason, end in ((" ", NOW + timedelta(days=1)), ("launch", NOW)):
        with pytest.raises(Invalid):
            services.grant_overdraft(actor=house.finance, reason=reason, expires_at=end, **options)
    services.grant_overdraft(
        actor=house.finance, reason="launch", expires_at=NOW + timedelta(days=1), **options
    )
    hold(house.project, "1400.00", "a")
    with pytest.raises(Refused):
        hold(house.project, "200.00", "b")
    with pytest.raises(Refused):
        hold(house.project, "50.00", "c", now=NOW + timedelta(days=2))
    assert queries.position(own, NOW).overdraft == 500


def test_marks_are_told_once(house):
    own = budget("1000", project_id=house.project.pk)
    hold(house.project, "790.00", "a")
    spend(house.project, "100.00")
    services.release_hold(actor=SYSTEM, key="a", now=NOW)
    hold(house.project, "790.00", "b")
    spend(house.project, "200.00", key="b")
    marks = [e.payload["mark"] for e in OutboxEvent.objects.filter(kind="budgets.threshold")]
    assert sorted(marks) == [50, 80]
    spend(house.project, "2000.00")
    marks = [e.payload["mark"] for e in OutboxEvent.objects.filter(kind="budgets.threshold")]
    assert sorted(marks) == [50, 80, 95, 100]
    assert own.pk == OutboxEvent.objects.first().payload["budget_id"]


def test_foreign_money_is_converted_at_the_rate_of_the_day_or_not_at_all(house):
    own = budget("100000", project_id=house.project.pk)
    dollars = Money(Decimal("2.00"), "USD")
    with pytest.raises(Refused) as refused:
        hold(house.project, dollars, "a")
    assert refused.value.reason.code == "no_rate"
    services.set_rate(
        actor=house.finance, base="USD", quote="CNY", day=date(2026, 11, 10),
        rate=Decimal("7.10"), source="bank",
    )  # fmt: skip
    hold(house.project, dollars, "a")
    assert figures(own) == ("14.2", "0")
    entry = BudgetEntry.objects.get()
    assert (entry.rate, entry.rate_day, entry.rate_source) == (
        Decimal("7.1"),
        date(2026, 11, 10),
        "bank",
    )
    with pytest.raises(Refused):
        hold(house.project, dollars, "b", now=NOW + timedelta(days=1))
    with pytest.raises(Invalid):
        services.set_rate(
            actor=house.finance, base="USD", quote="CNY", day=date(2026, 11, 10),
            rate=Decimal("9"), source="again",
        )  # fmt: skip


def with_savepoint(act, *arguments):
    with transaction.atomic():
        return act(*arguments)


def test_entries_are_never_changed(house):
    budget("1000", project_id=house.project.pk)
    hold(house.project, "1.00", "a")
    for sql in ("UPDATE budgets_budgetentry SET held = 0", "DELETE FROM budgets_budgetentry"):
        with connection.cursor() as cursor, pytest.raises(DatabaseError, match="append-only"):
            with_savepoint(cursor.execute, sql)


def test_faults_are_found(house):
    own = budget("1000", project_id=house.project.pk)
    hold(house.project, "10.00", "a")
    Budget.objects.filter(pk=own.pk).update(held=Decimal(9))
    assert len(queries.faults()) == 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"first_day": date(2026, 11, 2)}, "first_day"),
        ({"unit": "week"}, "unit"),
        ({"limit": Decimal("-1")}, "limit"),
        ({"limit": Decimal("0.001")}, "limit"),
        ({"limit": Decimal("NaN")}, "limit"),
        ({"currency": "RMB"}, "currency"),
        ({"team_id": 1}, "owner"),
    ],
)
def test_a_wrong_budget_is_refused(house, fields, field):
    data = {
        "unit": "month", "first_day": date(2026, 11, 1), "currency": "CNY",
        "limit": Decimal(1), "project_id": house.project.pk, **fields,
    }  # fmt: skip
    with pytest.raises(Invalid) as refused:
        services.create_budget(actor=house.finance, **data)
    assert refused.value.field == field
    assert Budget.objects.count() == 0


def test_one_budget_a_period(house):
    budget("1000", project_id=house.project.pk)
    with pytest.raises(Invalid):
        budget("2000", project_id=house.project.pk)
    with pytest.raises(Denied):
        services.change_limit(
            actor=house.lead, budget_id=Budget.objects.get().pk, limit=Decimal(5), reason="more"
        )


def test_who_sees_which_budget(house):
    own = budget("1000", project_id=house.project.pk)
    team = budget("1000", team_id=house.team.pk)
    other = budget("1000", team_id=house.other_team.pk)
    centre = budget("1000", cost_centre_id=house.project.cost_centre_id)
    assert set(queries.visible_to(house.member)) == {own, team}
    assert set(queries.visible_to(house.outsider)) == {other}
    assert set(queries.visible_to(house.auditor)) == {own, team, other, centre}


def test_budgets_of_a_time(house):
    own = budget("1000", project_id=house.project.pk)
    assert queries.budgets_for_project(house.project.pk, NOW) == [own]
    assert queries.budgets_for_project(house.project.pk, NOW + timedelta(days=40)) == []
    assert NOVEMBER.start in own.period
    assert yuan("1") == yuan("1.0")


steps = st.lists(
    st.tuples(
        st.sampled_from(["hold", "spend", "release", "credit"]),
        st.integers(1, 900_000),
        st.sampled_from("abc"),
    ),
    max_size=25,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps)
def test_any_run_of_holds_charges_and_releases_keeps_the_books(house, acts):
    """Held is never below zero, no hold exceeds what was free, entries add up."""
    with transaction.atomic():
        own = budget("10000", project_id=house.project.pk)
        team = budget("15000", team_id=house.team.pk)
        for act, cents, key in acts:
            amount = Decimal(cents).scaleb(-2)
            own.refresh_from_db()
            if act == "hold":
                free = own.limit - own.held - own.spent
                known = Hold.objects.filter(key=key).exists()
                try:
                    hold(house.project, amount, key)
                except (Refused, Invalid):
                    own.refresh_from_db()
                else:
                    assert known or amount <= free
            elif act == "release":
                services.release_hold(actor=SYSTEM, key=key, now=NOW)
            else:
                spend(house.project, -amount if act == "credit" else amount, key=key)
            own.refresh_from_db()
            team.refresh_from_db()
            assert own.held >= 0
            assert (own.held, own.spent) == (team.held, team.spent)
        assert queries.faults() == []
        transaction.set_rollback(True)
