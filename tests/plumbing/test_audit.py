from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from governance.kernel.policy import SYSTEM
from governance.plumbing import audit
from governance.plumbing.models import AuditEvent, AuditSeal

pytestmark = pytest.mark.django_db


def _event(number: int) -> AuditEvent:
    return audit.record(
        actor=SYSTEM,
        act="test.act",
        thing=("test.thing", number),
        after={"n": number},
        reason="why",
    )


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE plumbing_auditevent SET act = 'other'",
        "DELETE FROM plumbing_auditevent",
        "TRUNCATE plumbing_auditevent CASCADE",
        "UPDATE plumbing_auditseal SET digest = 'x'",
        "DELETE FROM plumbing_auditseal",
    ],
)
def test_trail_cannot_be_changed_by_sql(sql: str) -> None:
    _event(1)
    audit.seal()
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(sql)
    assert AuditEvent.objects.get().act == "test.act"


def test_chain_holds_over_several_sealings() -> None:
    for number in range(3):
        _event(number)
        assert audit.seal() == 1
    assert audit.seal() == 0
    assert audit.verify() == []
    assert AuditSeal.objects.count() == 3


def _tamper(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(sql)
        cursor.execute("SET session_replication_role = DEFAULT")
    return audit.verify()


def test_changed_event_is_found() -> None:
    first, _second = _event(1), _event(2)
    audit.seal()
    faults = _tamper(f"UPDATE plumbing_auditevent SET reason = 'other' WHERE id = {first.pk}")
    assert faults == [f"event {first.pk}: its content is not what was sealed"]


def test_removed_link_is_found() -> None:
    first, _second = _event(1), _event(2)
    audit.seal()
    faults = _tamper(f"DELETE FROM plumbing_auditseal WHERE event_id = {first.pk}")
    assert len(faults) == 1
    assert "link before it is missing" in faults[0]


@pytest.mark.django_db(transaction=True)
def test_record_outside_a_transaction_is_a_programming_error() -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        _event(1)
