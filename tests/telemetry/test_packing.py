"""Closed days are made small without loss, and come back when something reaches into them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.kernel.periods import Period
from governance.kernel.policy import SYSTEM
from governance.telemetry import queries, services
from governance.telemetry.domain.packing import COLUMNS, pack, unpack
from governance.telemetry.models import Card, MinuteSample, PackedDay, UsageHour
from tests import make
from tests.telemetry.pages import BASE, NOW, page, row
from tests.telemetry.test_property import dump

CLOSED = NOW + timedelta(days=3)
DAY = Period(
    datetime.fromtimestamp(BASE * 60, UTC), datetime.fromtimestamp(BASE * 60 + 86_400, UTC)
)
_share = st.one_of(st.none(), st.floats(0, 1, width=32))


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "sm_mean": _share,
                "tensor_mean": _share,
                "power_w_mean": st.one_of(st.none(), st.floats(0, 900, width=32)),
                "memory_used_bytes_max": st.one_of(st.none(), st.integers(0, 10**11)),
                "xid_count": st.one_of(st.none(), st.integers(0, 9)),
                "throttle": st.one_of(st.none(), st.text(max_size=6)),
                "reason": st.one_of(st.none(), st.sampled_from(["", "mixed_source", "原因"])),
                "active_samples": st.one_of(st.none(), st.integers(0, 60)),
            }
        ),
        max_size=30,
    )
)
@settings(deadline=None)
def test_what_is_unpacked_is_what_was_packed(figures: list[dict[str, Any]]) -> None:
    found = page([row(minute=BASE + n, **one) for n, one in enumerate(figures)])
    rows = found.rows.with_columns(stream_id=pl.lit(7, pl.Int32)).select(COLUMNS)
    back = unpack(pack(rows))
    assert back.equals(rows)
    assert back.schema == rows.schema


@pytest.mark.django_db
class TestDays:
    @pytest.fixture
    def node(self, house: make.House) -> int:
        node = services.enrol_node(actor=SYSTEM, name="north", mode="push", now=NOW).node_id
        rows = [
            row(card=card, minute=BASE + n, sm_mean=(n % 97) / 97, power_w_mean=300 + n % 7)
            for n in range(1440)
            for card in range(2)
        ]
        services.ingest_page(node_id=node, page=page(rows), now=NOW)
        services.roll_up(now=CLOSED)
        return node

    def seen(self, house: make.House) -> list[dict[str, Any]]:
        card = Card.objects.get(uuid="GPU-0")
        return queries.minutes(house.operator, card, DAY, COLUMNS)

    def test_readers_see_no_difference_and_space_is_given_back(
        self, house: make.House, node: int
    ) -> None:
        before, rolled = self.seen(house), dump()
        assert services.pack_closed(now=CLOSED) == 2
        assert MinuteSample.objects.count() == 0
        assert self.seen(house) == before
        assert {key: rolled[key] for key in ("hours", "days")} == {
            key: dump()[key] for key in ("hours", "days")
        }
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT sum(octet_length(body))::float8 / sum(minutes) FROM telemetry_packedday"
            )
            assert cursor.fetchone()[0] <= 40

    def test_a_late_row_brings_its_day_back_and_the_hour_is_right(
        self, house: make.House, node: int
    ) -> None:
        services.pack_closed(now=CLOSED)
        late = page([row(minute=BASE + 30, samples=90)], first=9_000)
        assert services.ingest_page(node_id=node, page=late, now=CLOSED).clashes == 1
        assert MinuteSample.objects.count() == 1440
        assert PackedDay.objects.count() == 1
        services.roll_up(now=CLOSED)
        card = Card.objects.get(uuid="GPU-0")
        first = UsageHour.objects.get(card_id=card.pk, hour=BASE // 60)
        assert first.samples == 59 * 60 + 90
        assert services.pack_closed(now=CLOSED) == 1
        assert len(self.seen(house)) == 1440

    def test_a_change_of_the_calendar_reaches_packed_days(
        self, house: make.House, node: int
    ) -> None:
        services.pack_closed(now=CLOSED)
        card = Card.objects.get(uuid="GPU-0")
        held = services.book_card(
            actor=SYSTEM,
            card_id=card.pk,
            starts_at=DAY.start,
            ends_at=DAY.start + timedelta(hours=1),
            project_id=house.project.pk,
            now=CLOSED,
        )
        services.roll_up(now=CLOSED)
        owners = dict(UsageHour.objects.filter(card_id=card.pk).values_list("hour", "holding_id"))
        assert owners[BASE // 60] == held
        assert set(owners.values()) == {held, 0}

    def test_an_open_day_and_one_to_be_rolled_up_stay(self, house: make.House, node: int) -> None:
        assert services.pack_closed(now=NOW - timedelta(days=1)) == 0
        services.ingest_page(node_id=node, page=page([row(card=2)], first=9_000), now=NOW)
        assert services.pack_closed(now=CLOSED) == 0

    def test_packed_days_go_with_their_minutes(self, house: make.House, node: int) -> None:
        services.pack_closed(now=CLOSED)
        services.keep(now=NOW + timedelta(days=40))
        assert PackedDay.objects.count() == 0
        assert UsageHour.objects.exists()
