"""Two people at once against one budget, on two connections; and the same without the lock."""

import threading
from decimal import Decimal

import pytest

from governance.budgets import queries, services
from governance.budgets.models import Budget, Hold
from governance.budgets.services import holds
from governance.kernel.errors import Refused
from governance.kernel.policy import SYSTEM
from tests.budgets.make import NOW, budget, figures, hold, spend
from tests.make import house as make_house
from tests.racing import faults, together

pytestmark = pytest.mark.django_db(transaction=True)


def two_holds():
    house = make_house()
    own = budget("10000", project_id=house.project.pk)
    answers = together(
        lambda: hold(house.project, "6000.00", "a"), lambda: hold(house.project, "6000.00", "b")
    )
    return own, answers


def check_two_holds():
    own, answers = two_holds()
    (fault,) = faults(answers)
    assert isinstance(fault, Refused)
    assert figures(own) == ("6000", "0")
    assert Hold.objects.count() == 1
    assert queries.faults() == []


def test_only_one_of_two_holds_fits():
    check_two_holds()


@pytest.mark.proof
@pytest.mark.parametrize("attempt", range(50))
def test_only_one_of_two_holds_fits_every_time(attempt):
    check_two_holds()


def test_without_the_lock_both_would_pass(monkeypatch):
    """Negative control: the same race with a plain read in place of the row lock."""
    both_read = threading.Barrier(2, timeout=5)

    def read(budgets):
        rows = list(Budget.objects.filter(pk__in=budgets.values("pk")))
        both_read.wait()
        return rows

    monkeypatch.setattr(holds, "_lock", read)
    _, answers = two_holds()
    assert faults(answers) == []
    assert Hold.objects.count() == 2


def test_the_same_hold_twice_at_once_holds_once():
    house = make_house()
    own = budget("10000", project_id=house.project.pk)
    act = lambda: hold(house.project, "6000.00", "a")  # noqa: E731
    first, second = together(act, act)
    assert first == second
    assert figures(own) == ("6000", "0")


def test_holding_spending_and_releasing_at_once_lose_nothing():
    house = make_house()
    own = budget("10000", project_id=house.project.pk)
    team = budget("90000", team_id=house.team.pk)
    hold(house.project, "3000.00", "a")
    hold(house.project, "1000.00", "b")
    answers = together(
        lambda: spend(house.project, "500.00", key="a"),
        lambda: services.release_hold(actor=SYSTEM, key="b", now=NOW),
        lambda: hold(house.project, "2000.00", "c"),
        lambda: spend(house.project, "70.00"),
    )
    assert faults(answers) == []
    assert figures(own) == figures(team) == ("4500", "570")
    assert queries.faults() == []


def test_a_lower_limit_and_a_hold_at_once_never_exceed_it():
    house = make_house()
    own = budget("10000", project_id=house.project.pk)
    together(
        lambda: services.change_limit(
            actor=house.finance, budget_id=own.pk, limit=Decimal(5000), reason="cut"
        ),
        lambda: hold(house.project, "6000.00", "a"),
    )
    own.refresh_from_db()
    assert own.limit == 5000
    assert own.held in (0, 6000)
