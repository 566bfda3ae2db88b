"""Two connections at one time, on real PostgreSQL. Each race has a negative control: with the lock
that protects it taken away, the fault appears."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import pytest
from django.db import connection, transaction
from django.db.models import Model

from governance.accounts.models import Grant, User
from governance.accounts.services import end_role
from governance.budgets import services as budgets
from governance.budgets.models import Budget, Hold
from governance.kernel.errors import Busy, Denied, DomainError, Refused
from governance.plumbing import clock, locks
from governance.plumbing.models import AuditEvent
from governance.requests import services
from governance.requests.models import ComputeRequest
from tests import make
from tests.requests import market

pytestmark = pytest.mark.django_db(transaction=True)
REPEATS = 3


@pytest.fixture
def at() -> market.Stage:
    return market.stage(make.house(), clock.now().replace(minute=0, second=0, microsecond=0))


def both(*acts: Callable[[], Any]) -> list[Any]:
    """Run the acts at once, each on a connection of its own; their results or errors."""
    gate = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(n: int) -> None:
        try:
            gate.wait(10)
            results[n] = acts[n]()
        except DomainError as error:
            results[n] = error
        except Exception as error:
            results[n] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def one_won(results: list[Any]) -> bool:
    return sum(not isinstance(r, Exception) for r in results) == 1


def held(at: market.Stage) -> Any:
    return Budget.objects.get(pk=at.budget_id).held


@contextmanager
def no_row_locks() -> Iterator[None]:
    """SELECT ... FOR UPDATE reads without locking: what a check and a later write would be."""
    from django.db.models import QuerySet

    def plain(self: Any, *args: Any, **options: Any) -> Any:
        return self.all()

    with mock.patch.object(QuerySet, "select_for_update", plain):
        yield


@contextmanager
def all_read_first(model: type[Model], parties: int = 2) -> Iterator[None]:
    """Nobody writes a row of the model before everybody has read it."""
    real = locks.lock
    gate = threading.Barrier(parties)

    def waiting(queryset: Any, ids: Any) -> Any:
        rows = real(queryset, ids)
        if queryset.model is model:
            with suppress(threading.BrokenBarrierError):
                gate.wait(3.0)
        return rows

    with mock.patch.object(locks, "lock", waiting):
        yield


def approve_by(person: User, row: ComputeRequest, at: market.Stage) -> Callable[[], Any]:
    return lambda: services.approve(actor=person, request_id=row.pk, now=at.now)


def test_two_approvers_of_one_request(at: market.Stage) -> None:
    second = make.user("Bea", across="approver")
    for _ in range(REPEATS):
        before = held(at)
        row = market.submitted(at)
        results = both(approve_by(at.house.approver, row, at), approve_by(second, row, at))
        assert one_won(results), results
        assert all(isinstance(r, (ComputeRequest, Refused, Busy)) for r in results), results
        assert AuditEvent.objects.filter(act="requests.approve", thing_id=str(row.pk)).count() == 1
        assert Hold.objects.filter(key__startswith=f"request:{row.pk}:").count() == 1
        assert held(at) == before + row.amount


def test_two_approvers_without_locks_sign_twice(at: market.Stage) -> None:
    """Negative control (the hold's own key would stop it too; it is left out here)."""
    second = make.user("Bea", across="approver")
    row = market.submitted(at)
    no_hold = mock.patch.object(budgets, "place_hold", return_value=0)
    with no_row_locks(), all_read_first(ComputeRequest), no_hold:
        results = both(approve_by(at.house.approver, row, at), approve_by(second, row, at))
    twice = AuditEvent.objects.filter(act="requests.approve", thing_id=str(row.pk)).count()
    assert twice == 2, results


def test_approve_and_withdraw(at: market.Stage) -> None:
    for _ in range(REPEATS):
        before = held(at)
        row = market.submitted(at)
        both(
            approve_by(at.house.approver, row, at),
            lambda row=row: services.withdraw(actor=at.house.member, request_id=row.pk, now=at.now),
        )
        row.refresh_from_db()
        assert row.state in {"approved", "withdrawn"}
        assert held(at) == before + (row.amount if row.state == "approved" else 0)


def test_approve_and_withdraw_without_locks_leaves_a_hold(at: market.Stage) -> None:
    """Negative control: withdrawn, yet money stays held."""
    row = market.submitted(at)
    withdraw = lambda: services.withdraw(  # noqa: E731
        actor=at.house.member, request_id=row.pk, now=at.now
    )
    with no_row_locks(), all_read_first(ComputeRequest):
        both(approve_by(at.house.approver, row, at), withdraw)
    acts = set(AuditEvent.objects.filter(thing_id=str(row.pk)).values_list("act", flat=True))
    assert {"requests.approve", "requests.withdraw"} <= acts
    assert held(at) == row.amount


def test_two_requests_on_one_budget(at: market.Stage) -> None:
    second = make.user("Bea", across="approver")
    first, other = market.submitted(at), market.submitted(at)
    Budget.objects.filter(pk=at.budget_id).update(limit=first.amount * 3 / 2)
    results = both(approve_by(at.house.approver, first, at), approve_by(second, other, at))
    assert one_won(results), results
    [loser] = [r for r in results if isinstance(r, Exception)]
    assert isinstance(loser, Refused)
    assert loser.reason.code == "budget"
    assert held(at) == first.amount
    states = sorted(ComputeRequest.objects.values_list("state", flat=True))
    assert states == ["approved", "submitted"]


def test_two_requests_on_one_budget_without_locks_overspend(at: market.Stage) -> None:
    """Negative control."""
    second = make.user("Bea", across="approver")
    first, other = market.submitted(at), market.submitted(at)
    Budget.objects.filter(pk=at.budget_id).update(limit=first.amount * 3 / 2)
    with no_row_locks(), all_read_first(Budget):
        results = both(approve_by(at.house.approver, first, at), approve_by(second, other, at))
    assert not any(isinstance(r, Exception) for r in results), results
    sums = sum(hold.amount for hold in Hold.objects.all())
    assert sums > Budget.objects.get(pk=at.budget_id).limit


def test_role_removed_meanwhile(at: market.Stage) -> None:
    """The approval sees the role, or sees it gone; never does it commit after the role ended."""
    for _ in range(REPEATS):
        person = make.user("Bea", across="approver")
        row = market.submitted(at)
        grant = Grant.objects.get(user=person)
        done: list[str] = []

        def approve(
            person: User = person, row: ComputeRequest = row, done: list[str] = done
        ) -> Any:
            with transaction.atomic():
                found = services.approve(actor=person, request_id=row.pk, now=at.now)
                transaction.on_commit(lambda: done.append("approved"))
            return found

        def end(grant: Grant = grant, done: list[str] = done) -> Any:
            with transaction.atomic():
                end_role(actor=at.house.admin, grant_id=grant.pk, now=at.now)
                transaction.on_commit(lambda: done.append("ended"))

        first, _second = both(approve, end)
        row.refresh_from_db()
        if isinstance(first, (Denied, DomainError)):
            assert row.state == "submitted"
        else:
            assert row.state == "approved"
            assert done[0] == "approved"


def test_role_removed_meanwhile_without_locks_approves_after_the_end(at: market.Stage) -> None:
    """Negative control: the check reads the role, the role ends, the approval commits."""
    person = make.user("Bea", across="approver")
    row = market.submitted(at)
    grant = Grant.objects.get(user=person)
    checked, ended = threading.Event(), threading.Event()
    real = budgets.place_hold

    def late(**options: Any) -> int:
        checked.set()
        ended.wait(5)
        return real(**options)

    def end() -> None:
        checked.wait(5)
        end_role(actor=at.house.admin, grant_id=grant.pk, now=at.now)
        ended.set()

    with no_row_locks(), mock.patch.object(budgets, "place_hold", late):
        both(approve_by(person, row, at), end)
    row.refresh_from_db()
    assert row.state == "approved"
    assert not Grant.objects.filter(user=person, ends_on=None).exists()
