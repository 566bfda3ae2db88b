"""One way in: stored once, bad rows counted, cursors, conflicts, alerts, retention."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from governance.kernel.errors import Busy, Denied, Invalid, Refused
from governance.kernel.policy import SYSTEM
from governance.notices.models import Notice
from governance.plumbing import outbox
from governance.plumbing.models import AuditEvent, OutboxEvent
from governance.telemetry import handlers, services
from governance.telemetry.domain import tokens
from governance.telemetry.domain.page import check_page
from governance.telemetry.models import (
    Alert,
    Card,
    CardHolding,
    Conflict,
    DirtyHour,
    Gap,
    MinuteSample,
    Node,
    PullState,
    Rejection,
    UsageDay,
    UsageHour,
)
from governance.telemetry.services.ingest import Delivery
from tests import make
from tests.telemetry.pages import BASE, NOW, NOW_MINUTE, document, page, row

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=2)


def enrol(name: str = "north", **more: Any) -> int:
    return services.enrol_node(actor=SYSTEM, name=name, mode="push", now=NOW, **more).node_id


@pytest.fixture
def node(house: make.House) -> int:
    return enrol()


def test_the_same_page_again_stores_nothing(node: int) -> None:
    sent = page([row(), row(card=1)])
    assert services.ingest_page(node_id=node, page=sent, now=NOW).stored == 2
    again = services.ingest_page(node_id=node, page=sent, now=NOW)
    assert (again.stored, again.repeated, again.clashes) == (0, 2, 0)
    assert MinuteSample.objects.count() == 2


def test_bad_rows_are_counted_by_day_and_reason(node: int) -> None:
    services.ingest_page(
        node_id=node, page=page([row(), row(minute=BASE + 1, samples=-1)]), now=NOW
    )
    assert MinuteSample.objects.count() == 1
    assert Rejection.objects.values_list("reason", "rows").get() == ("counts", 1)


def test_a_clash_keeps_the_row_with_more_samples_and_is_shown(node: int) -> None:
    other = enrol("south")
    services.ingest_page(node_id=node, page=page([row(samples=40)]), now=NOW)
    receipt = services.ingest_page(
        node_id=other, page=page([row(samples=50)], agent="agent-b"), now=NOW
    )
    assert receipt.clashes == 1
    assert MinuteSample.objects.get().samples == 50
    receipt = services.ingest_page(node_id=node, page=page([row(samples=45)], first=9), now=NOW)
    assert (receipt.stored, receipt.clashes) == (0, 1)
    assert MinuteSample.objects.get().samples == 50
    kinds = set(Conflict.objects.values_list("kind", "node__name"))
    assert {("minute", "south"), ("minute", "north")} <= kinds


def test_two_nodes_with_one_card_are_a_conflict(node: int) -> None:
    recent = [row(minute=int(NOW.timestamp()) // 60 - 1)]
    services.ingest_page(node_id=node, page=page(recent), now=NOW)
    other = enrol("south")
    services.ingest_page(node_id=other, page=page(recent, agent="agent-b"), now=NOW)
    assert Conflict.objects.get(kind="card", node_id=other).card.uuid == "GPU-0"
    assert Card.objects.get(uuid="GPU-0").node_id == node


def test_a_card_that_its_node_no_longer_reports_moves(node: int) -> None:
    services.ingest_page(node_id=node, page=page([row()]), now=NOW)
    other = enrol("south")
    services.ingest_page(
        node_id=other, page=page([row(minute=BASE + 99)], agent="agent-b"), now=NOW
    )
    assert set(Card.objects.values_list("node_id", flat=True)) == {other}
    assert AuditEvent.objects.filter(act="cards.move").count() == 3
    assert not Conflict.objects.filter(kind="card").exists()


def test_one_agent_on_two_nodes_is_a_conflict(node: int) -> None:
    services.ingest_page(node_id=node, page=page([row()]), now=NOW)
    other = enrol("south")
    services.ingest_page(node_id=other, page=page([], cards=()), now=NOW)
    assert Conflict.objects.get(kind="agent").other == "north"


def test_a_page_not_after_our_cursor_is_refused_and_moves_nothing(node: int) -> None:
    services.ingest_page(node_id=node, page=page([row()]), after="", now=NOW)
    assert PullState.objects.get(node_id=node).cursor == "e1:1"
    with pytest.raises(Busy):
        services.ingest_page(node_id=node, page=page([row(card=1)], first=2), after="", now=NOW)
    assert PullState.objects.get(node_id=node).cursor == "e1:1"
    assert MinuteSample.objects.count() == 1


def test_a_lost_lease_stores_nothing(node: int) -> None:
    with pytest.raises(Busy):
        services.ingest_page(node_id=node, page=page([row()]), lease=uuid.uuid4(), now=NOW)
    assert MinuteSample.objects.count() == 0


def test_one_bad_delivery_does_not_hold_up_the_others(node: int) -> None:
    revoked = enrol("south")
    services.revoke_node(actor=SYSTEM, node_id=revoked, reason="gone", now=NOW)
    receipts = services.ingest_pages(
        [
            Delivery(node, page([row()])),
            Delivery(revoked, page([row(card=1)], agent="agent-b")),
        ],
        now=NOW,
    )
    assert [receipt.stored for receipt in receipts] == [1, 0]
    assert isinstance(receipts[1].error, Refused)


def test_pages_of_many_nodes_are_one_transaction(
    node: int, django_assert_max_num_queries: Any
) -> None:
    nodes = [enrol(f"n{n}") for n in range(20)]

    def deliveries(minute: int) -> list[Delivery]:
        return [
            Delivery(
                one, page([row(minute=minute)], agent=f"a{one}", first=minute, cards=[f"G-{one}"])
            )
            for one in nodes
        ]

    services.ingest_pages(deliveries(BASE), now=NOW)
    with django_assert_max_num_queries(26):
        services.ingest_pages(deliveries(BASE + 1), now=NOW)
    assert MinuteSample.objects.count() == 40


def test_gaps_are_stored_once(node: int) -> None:
    gap = {"from": "2026-11-27T00:00:00Z", "to": "2026-11-27T00:05:00Z", "reason": "retention"}
    for _ in range(2):
        services.ingest_page(node_id=node, page=page([], gaps=[gap]), now=NOW)
    assert Gap.objects.count() == 1


def test_late_rows_mark_their_hour_again(node: int) -> None:
    services.ingest_page(node_id=node, page=page([row()]), now=NOW)
    services.roll_up(now=LATER)
    assert UsageHour.objects.get().minutes == 1
    assert not DirtyHour.objects.exists()
    services.ingest_page(node_id=node, page=page([row(minute=BASE + 5)], first=2), now=NOW)
    services.roll_up(now=LATER)
    assert UsageHour.objects.get().minutes == 2
    assert UsageDay.objects.get().minutes == 2


def test_an_hour_under_way_waits_a_little(node: int) -> None:
    this_minute = int(NOW.timestamp()) // 60
    services.ingest_page(node_id=node, page=page([row(minute=this_minute)]), now=NOW)
    assert services.roll_hours(now=NOW) == 0
    assert services.roll_hours(now=NOW + timedelta(seconds=61)) == 1


def test_days_are_cut_in_the_zone_of_the_holders_team(house: make.House, node: int) -> None:
    """Kathmandu is 5:45 ahead: its midnight, 18:15 UTC, cuts an hour in two."""
    house.team.timezone = "Asia/Kathmandu"
    house.team.save()
    evening = BASE + 18 * 60
    services.ingest_page(
        node_id=node, page=page([row(minute=evening + n) for n in range(60)]), now=NOW
    )
    start = datetime.fromtimestamp(evening * 60, UTC)
    services.book_card(
        actor=SYSTEM,
        card_id=Card.objects.get(uuid="GPU-0").pk,
        starts_at=start,
        ends_at=start + timedelta(hours=1),
        project_id=house.project.pk,
        now=NOW,
    )
    services.roll_up(now=LATER)
    days = UsageDay.objects.order_by("day").values_list("day", "minutes", "timezone")
    assert [(str(day), minutes, zone) for day, minutes, zone in days] == [
        ("2026-11-27", 15, "Asia/Kathmandu"),
        ("2026-11-28", 45, "Asia/Kathmandu"),
    ]


def test_a_whole_day_has_1440_minutes_and_days_add_up(node: int) -> None:
    services.ingest_page(
        node_id=node, page=page([row(minute=BASE + n) for n in range(2 * 1440)]), now=NOW
    )
    services.roll_up(now=LATER)
    assert sum(UsageHour.objects.values_list("minutes", flat=True)) == 2 * 1440
    # Shanghai is 8 hours ahead of the pages' UTC midnight
    assert list(UsageDay.objects.order_by("day").values_list("minutes", flat=True)) == [
        16 * 60,
        1440,
        8 * 60,
    ]


class TestRetention:
    def test_minutes_go_hours_stay_and_late_rows_cannot_spoil_them(self, node: int) -> None:
        services.ingest_page(node_id=node, page=page([row(), row(minute=BASE + 1)]), now=NOW)
        services.roll_up(now=LATER)
        before = UsageHour.objects.values().get()
        dropped = services.keep(now=NOW + timedelta(days=36))
        assert dropped == ["telemetry_minutesample_p20261127"]
        assert MinuteSample.objects.count() == 0
        receipt = services.ingest_page(
            node_id=node,
            page=page([row(minute=BASE + 2), row(card=1)], first=3),
            now=NOW + timedelta(days=36),
        )
        assert receipt.rejected == {"too_old": 1}
        services.roll_up(now=NOW + timedelta(days=40))
        assert UsageHour.objects.filter(card_id=before["card_id"]).values().get() == before

    def test_what_is_not_rolled_up_is_not_dropped(self, node: int) -> None:
        services.ingest_page(node_id=node, page=page([row()]), now=NOW)
        assert services.keep(now=NOW + timedelta(days=100)) == []
        assert MinuteSample.objects.count() == 1

    def test_days_outlive_hours(self, node: int) -> None:
        services.ingest_page(node_id=node, page=page([row()]), now=NOW)
        services.roll_up(now=LATER)
        dropped = services.keep(now=NOW + timedelta(days=500))
        assert any("usagehour" in name for name in dropped)
        assert UsageHour.objects.count() == 0
        assert UsageDay.objects.get().minutes == 1

    def test_tomorrow_has_its_partitions(self) -> None:
        services.keep(now=NOW)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_class WHERE relname LIKE %s", ["%p202612%"])
            assert cursor.fetchone()[0] >= 2


class TestAlerts:
    def test_silence_is_told_once_and_its_end_once(self, house: make.House, node: int) -> None:
        services.ingest_page(node_id=node, page=page([row()]), now=NOW)
        CardHolding.objects.all().delete()
        services.book_card(
            actor=SYSTEM,
            card_id=Card.objects.get(uuid="GPU-0").pk,
            starts_at=NOW,
            ends_at=None,
            project_id=house.project.pk,
            rental_id=5,
            now=NOW,
        )
        quiet = NOW + timedelta(minutes=11)
        assert services.find_silent(now=NOW + timedelta(minutes=9)) == 0
        assert services.find_silent(now=quiet) == 1
        assert services.find_silent(now=quiet + timedelta(minutes=5)) == 0
        services.ingest_page(
            node_id=node, page=page([row(minute=BASE + 1)], first=2), now=quiet + timedelta(hours=1)
        )
        told = OutboxEvent.objects.filter(kind="telemetry.silent").order_by("id")
        assert [(one.payload["what"], one.payload["rentals"]) for one in told] == [
            ("opened", [5]),
            ("closed", [5]),
        ]
        assert handlers.hear
        outbox.drain()
        outbox.drain()
        concerned = {house.operator, house.member, house.lead}
        notices = Notice.objects.order_by("pk")
        assert {one.person for one in notices} == concerned
        assert notices.count() == 2 * len(concerned)
        first, last = notices[0], notices[notices.count() - 1]
        assert (first.text % first.params).startswith("north no longer reports.")
        assert last.text % last.params == "north reports again."

    def test_a_lost_card_and_a_full_spool(self, node: int) -> None:
        sent = page([row()], health={"spool": {"state": "full", "detail": "256 MiB"}})
        lost = [
            {"vendor": "nvidia", "uuid": "GPU-0", "state": "lost", "state_since": NOW.isoformat()}
        ]
        services.ingest_page(node_id=node, page=sent, now=NOW)
        services.ingest_page(node_id=node, page=page([], cards=()), now=NOW)
        assert set(Alert.objects.values_list("kind", "closed_at")) == {("spool_full", NOW)}
        reported = check_page(document([]) | {"cards": lost}, now_minute=NOW_MINUTE)
        for _ in range(2):
            services.ingest_page(node_id=node, page=reported, now=NOW)
        assert Alert.objects.filter(kind="card_lost", closed_at=None).count() == 1
        services.ingest_page(node_id=node, page=page([]), now=NOW)
        assert not Alert.objects.filter(closed_at=None).exists()
        assert Card.objects.get(uuid="GPU-0").state == "ok"


class TestTokens:
    def test_a_token_is_good_until_24_hours_after_its_rotation(self, house: make.House) -> None:
        first = services.enrol_node(actor=house.operator, name="x", mode="push", now=NOW)
        second = services.rotate_token(actor=house.operator, node_id=first.node_id, now=NOW)
        assert first.token != second.token
        day = timedelta(hours=24)
        just_before, after = NOW + day - timedelta(seconds=1), NOW + day
        assert services.node_for_token(first.token, just_before) is not None
        assert services.node_for_token(first.token, after) is None
        assert services.node_for_token(second.token, after) is not None

    def test_a_revoked_node_is_refused(self, house: make.House) -> None:
        given = services.enrol_node(actor=house.operator, name="x", mode="push", now=NOW)
        services.revoke_node(actor=house.operator, node_id=given.node_id, reason="r", now=NOW)
        assert services.node_for_token(given.token, NOW) is None
        with pytest.raises(Refused):
            services.rotate_token(actor=house.operator, node_id=given.node_id, now=NOW)

    @pytest.mark.parametrize("given", ["", "cln_", "cln_1", "cln_x_y", "clt_1_abc", "cln_1_" + "é"])
    def test_odd_tokens_are_nobodys(self, node: int, given: str) -> None:
        assert services.node_for_token(given, NOW) is None

    def test_the_database_alone_gives_no_token_away(self, house: make.House) -> None:
        given = services.enrol_node(actor=house.operator, name="x", mode="push", now=NOW)
        node = Node.objects.get(pk=given.node_id)
        assert not tokens.matches(given.token, "another secret", node.pk, node.token_nonce)

    def test_only_operators_enrol(self, house: make.House) -> None:
        with pytest.raises(Denied):
            services.enrol_node(actor=house.lead, name="x", mode="push", now=NOW)

    @pytest.mark.parametrize(
        ("field", "wrong"),
        [
            ("name", " "),
            ("mode", "guess"),
            ("address", "ftp://x"),
            ("address", ""),
            ("interval_seconds", 1),
            ("silent_after_minutes", 0),
        ],
    )
    def test_a_wrong_field_is_named(self, house: make.House, field: str, wrong: Any) -> None:
        fields = {"name": "x", "mode": "pull", "address": "http://127.0.0.1:1"} | {field: wrong}
        with pytest.raises(Invalid) as caught:
            services.enrol_node(actor=house.operator, now=NOW, **fields)
        assert caught.value.field == field

    def test_a_name_is_taken_once(self, node: int, house: make.House) -> None:
        with pytest.raises(Refused):
            services.enrol_node(actor=house.operator, name="north", mode="push", now=NOW)
