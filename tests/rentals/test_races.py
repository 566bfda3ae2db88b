"""Two workers at once on the same rentals, and the same without the lock."""

import threading
from datetime import date, timedelta

import pytest
from django.db import IntegrityError

from governance.kernel.errors import Refused
from governance.plumbing import locks
from governance.rentals import queries, services
from governance.rentals.models import Charge, Month, Rental
from tests.budgets.make import budget, figures
from tests.make import house as make_house
from tests.racing import faults, together
from tests.rentals.make import amounts, charge, local, rental

pytestmark = pytest.mark.django_db(transaction=True)


def check_two_workers():
    house = make_house()
    own = rental(house.project, end=local(2026, 10, 8))
    money = budget("10000", project_id=house.project.pk, first_day=date(2026, 10, 1))
    until = local(2026, 10, 9)
    answers = together(lambda: charge(until), lambda: charge(until))
    assert faults(answers) == []
    assert sum(run.charges for run in answers) == 7
    assert amounts(own) == ["240"] * 7
    assert figures(money) == ("0", "1680")
    assert queries.faults() == []


def test_two_workers_charge_once():
    check_two_workers()


@pytest.mark.proof
@pytest.mark.parametrize("attempt", range(50))
def test_two_workers_charge_once_every_time(attempt):
    check_two_workers()


def test_two_workers_of_one_run_share_the_rentals():
    house = make_house()
    money = budget("10000", project_id=house.project.pk, first_day=date(2026, 10, 1))
    own = [rental(house.project, end=local(2026, 10, 4)) for _ in range(5)]
    run = services.charge_rentals(
        actor=house.finance, until=local(2026, 10, 9), now=local(2026, 10, 9), workers=2
    )
    assert (run.rentals, run.charges, run.failed) == (5, 15, [])
    assert [amounts(one) for one in own] == [["240"] * 3] * 5
    assert figures(money) == ("0", "3600")
    assert queries.faults() == []


def test_without_the_lock_only_the_database_key_stops_the_second(monkeypatch):
    """Negative control: both workers read the rental uncharged; the unique key refuses one."""
    both_read = threading.Barrier(2, timeout=5)

    def read(queryset, pk):
        row = queryset.get(pk=pk)
        if isinstance(row, Rental):
            both_read.wait()
        return row

    house = make_house()
    own = rental(house.project, end=local(2026, 10, 8))
    monkeypatch.setattr(locks, "lock_one", read)
    answers = together(lambda: charge(local(2026, 10, 9)), lambda: charge(local(2026, 10, 9)))
    (fault,) = faults(answers)
    assert isinstance(fault, IntegrityError)
    assert amounts(own) == ["240"] * 7


def test_a_change_and_a_charge_at_once_agree_with_the_terms():
    house = make_house()
    own = rental(house.project, "monthly", "3100.00", end=local(2026, 12, 1))
    charge(local(2026, 10, 2))
    answers = together(
        lambda: charge(local(2026, 11, 2)),
        lambda: services.end_rental(
            actor=house.finance, rental_id=own.pk, at=local(2026, 11, 11), reason="done",
            now=local(2026, 11, 2) + timedelta(hours=1),
        ),
    )  # fmt: skip
    assert faults(answers) == []
    charge(local(2026, 12, 2))
    assert sum(row.net for row in own.charges.all()) in (
        3100 + 3100 - own.charges.get(kind="cards:credit").net * -1
        if own.charges.filter(kind="cards:credit").exists()
        else 3100 + own.charges.last().net,
    )
    assert queries.faults() == []


def test_a_month_is_closed_once():
    house = make_house()
    rental(house.project, end=local(2026, 10, 8))
    charge(local(2026, 10, 9))
    act = lambda: services.close_month(  # noqa: E731
        actor=house.finance, month=date(2026, 10, 1), now=local(2026, 11, 2)
    )
    answers = together(act, act)
    (fault,) = faults(answers)
    assert isinstance(fault, Refused)
    assert Month.objects.count() == 1


def test_closing_and_charging_at_once_never_adds_to_the_closed_month():
    house = make_house()
    rental(house.project, end=local(2026, 10, 8))
    together(
        lambda: services.close_month(
            actor=house.finance, month=date(2026, 10, 1), now=local(2026, 11, 2)
        ),
        lambda: charge(local(2026, 11, 2)),
    )
    charge(local(2026, 11, 3))
    month = Month.objects.get()
    from governance.rentals.services.closing import month_report

    assert month_report(date(2026, 10, 1)) == (month.input_hash, month.report)
    assert Charge.objects.count() == 7
