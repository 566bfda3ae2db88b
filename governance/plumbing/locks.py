"""Row locks taken in order, and named locks for jobs. A wait over 3 s answers Busy (409)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connection, models

from governance.kernel.errors import Busy, Missing

M = TypeVar("M", bound=models.Model)
LOCK_NOT_AVAILABLE, DEADLOCK = "55P03", "40P01"


def lock(queryset: models.QuerySet[M], ids: Iterable[object]) -> list[M]:
    """Lock the rows FOR NO KEY UPDATE in primary-key order and return them fresh, in that order.

    Rows of several tables are locked table by table: team < budget < request < offer < rental <
    ledger account. Missing (404) when one of them is not in the queryset; Busy after 3 seconds.
    """
    wanted = set(ids)
    rows = (
        queryset.filter(pk__in=wanted).order_by("pk").select_for_update(no_key=True, of=("self",))
    )
    with _busy():
        found = list(rows)
    if len(found) != len(wanted):
        raise Missing()
    return found


def lock_one(queryset: models.QuerySet[M], pk: object) -> M:
    """Lock a single row; see `lock`."""
    return lock(queryset, [pk])[0]


def hold_name(name: str, *, shared: bool = False) -> None:
    """Hold a named lock until the transaction ends: many may share it, or one has it alone.
    Busy after 3 seconds."""
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with _busy(), connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])


@contextmanager
def _busy() -> Iterator[None]:
    """A wait that ran out, or a deadlock, is Busy."""
    try:
        yield
    except OperationalError as error:
        if getattr(error.__cause__, "pgcode", None) in {LOCK_NOT_AVAILABLE, DEADLOCK}:
            raise Busy() from error
        raise


@contextmanager
def single(name: str) -> Iterator[bool]:
    """True inside for one holder of the name in the whole system, False for everybody else."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name])
        (mine,) = cursor.fetchone()
        try:
            yield mine
        finally:
            if mine:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])


@contextmanager
def turn(name: str) -> Iterator[None]:
    """One holder of the name at a time; the others wait as long as it takes."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])
            cursor.execute("RESET lock_timeout")
