"""Locks on a real server with two connections, each with a run without the lock."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from governance.accounts.models import Team
from governance.kernel.errors import Busy, Missing
from governance.plumbing import locks

pytestmark = pytest.mark.django_db(transaction=True)


def _both(act: Callable[[int], None]) -> list[Exception]:
    """Run `act` on two connections at once; the exceptions that came out."""
    faults: list[Exception] = []

    def run(number: int) -> None:
        try:
            act(number)
        except Exception as fault:
            faults.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return faults


@pytest.mark.parametrize("locked", [True, False])
def test_read_then_write_loses_nothing_only_with_the_lock(locked: bool) -> None:
    team = Team.objects.create(slug="t", name="0")
    both_read = threading.Barrier(2, timeout=1)

    def add(_number: int) -> None:
        with transaction.atomic():
            row = locks.lock_one(Team.objects.all(), team.pk) if locked else Team.objects.get()
            try:
                both_read.wait()
            except threading.BrokenBarrierError:
                assert locked
            row.name = str(int(row.name) + 1)
            row.save(update_fields=["name"])

    assert _both(add) == []
    team.refresh_from_db()
    assert team.name == ("2" if locked else "1")


def test_waiting_longer_than_the_limit_answers_busy() -> None:
    team = Team.objects.create(slug="t", name="x")
    held, done = threading.Event(), threading.Event()

    def act(number: int) -> None:
        if number == 1:
            with transaction.atomic():
                locks.lock_one(Team.objects.all(), team.pk)
                held.set()
                done.wait(10)
        else:
            held.wait(10)
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '100ms'")
                    locks.lock_one(Team.objects.all(), team.pk)
            finally:
                done.set()

    (fault,) = _both(act)
    assert isinstance(fault, Busy)


def test_locking_what_is_not_there_is_missing() -> None:
    with pytest.raises(Missing), transaction.atomic():
        locks.lock(Team.objects.all(), [1, 2])


def test_named_lock_has_one_holder() -> None:
    got: list[bool] = []
    meet = threading.Barrier(2, timeout=10)

    def act(_number: int) -> None:
        with locks.single("job") as mine:
            meet.wait()
            got.append(mine)
            meet.wait()

    assert _both(act) == []
    assert sorted(got) == [False, True]
    with locks.single("job") as mine:
        assert mine
