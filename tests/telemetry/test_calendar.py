"""The card calendar: no double booking, and time goes to who held the card then."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections
from django.db.models import Sum

from governance.kernel.errors import Denied, DomainError, Invalid, Missing, Refused
from governance.kernel.periods import Period
from governance.kernel.policy import SYSTEM
from governance.telemetry import queries, services
from governance.telemetry.models import Card, CardHolding, UsageDay, UsageHour
from tests import make
from tests.telemetry.pages import BASE, NOW, page, row

START = datetime.fromtimestamp(BASE * 60, UTC)
HOUR = timedelta(hours=1)
pytestmark = pytest.mark.django_db


def ingest(rows: list[dict[str, object]], name: str = "north", **frame: object) -> int:
    node_id = services.enrol_node(actor=SYSTEM, name=name, mode="push", now=NOW).node_id
    services.ingest_page(node_id=node_id, page=page(rows, **frame), now=NOW)
    return node_id


def roll() -> None:
    services.roll_up(now=NOW + timedelta(days=2))


@pytest.fixture
def card(house: make.House) -> Card:
    ingest([row(minute=BASE + n) for n in range(240)])
    return Card.objects.get(uuid="GPU-0")


def book(house: make.House, card: Card, start: int, end: int | None, **more: object) -> int:
    return services.book_card(
        actor=house.operator,
        card_id=card.pk,
        starts_at=START + start * HOUR,
        ends_at=None if end is None else START + end * HOUR,
        project_id=more.pop("project_id", house.project.pk),
        now=NOW,
        **more,
    )


def test_a_held_card_cannot_be_held_again(house: make.House, card: Card) -> None:
    book(house, card, 0, 2)
    book(house, card, 2, 4)
    with pytest.raises(Refused, match="is held by someone else from 2026-11-27 00:00 UTC"):
        book(house, card, 1, 3)
    assert CardHolding.objects.count() == 2


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 2)])
def test_a_span_ends_after_it_starts(house: make.House, card: Card, start: int, end: int) -> None:
    with pytest.raises(Invalid):
        book(house, card, start, end)


def test_only_those_with_the_right_book(house: make.House, card: Card) -> None:
    with pytest.raises(Denied):
        services.book_card(
            actor=house.member,
            card_id=card.pk,
            starts_at=START,
            ends_at=None,
            project_id=house.project.pk,
            now=NOW,
        )
    with pytest.raises(Missing):
        services.book_card(
            actor=house.operator,
            card_id=0,
            starts_at=START,
            ends_at=None,
            project_id=house.project.pk,
            now=NOW,
        )


def test_minutes_go_to_who_held_the_card_then(house: make.House, card: Card) -> None:
    first = book(house, card, 0, 1, rental_id=7)
    second = services.book_card(
        actor=house.operator,
        card_id=card.pk,
        starts_at=START + HOUR,
        ends_at=START + timedelta(minutes=90),
        project_id=house.other_project.pk,
        now=NOW,
    )
    roll()
    minutes = dict(UsageHour.objects.values_list("holding_id").annotate(n=Sum("minutes")))
    assert minutes == {first: 60, second: 30, 0: 150}
    period = Period(START, START + timedelta(days=1))
    rows = queries.usage(
        house.operator, period=period, tz="UTC", group_by=("rental", "project"), now=NOW
    )
    found = {(one.group["rental"], one.group["project"]): one.card_hours for one in rows}
    assert found == {
        (7, house.project.slug): 1.0,
        (None, house.other_project.slug): 0.5,
        (None, None): 2.5,
    }
    mine = queries.usage(house.member, period=period, tz="UTC", group_by=("project",), now=NOW)
    assert [one.group["project"] for one in mine] == [house.project.slug]
    assert queries.usage(house.outsider, period=period, tz="UTC", group_by=("rental",), now=NOW)[
        0
    ].card_hours == pytest.approx(0.5)


def test_a_change_of_the_calendar_moves_time_already_rolled_up(
    house: make.House, card: Card
) -> None:
    roll()
    assert set(UsageHour.objects.values_list("holding_id", flat=True)) == {0}
    held = book(house, card, 0, 4)
    roll()
    assert set(UsageHour.objects.values_list("holding_id", flat=True)) == {held}
    services.end_booking(actor=house.operator, holding_id=held, at=START + 2 * HOUR, now=NOW)
    roll()
    hours = dict(UsageHour.objects.values_list("hour", "holding_id"))
    assert [hours[BASE // 60 + n] for n in range(4)] == [held, held, 0, 0]
    days = dict(UsageDay.objects.values_list("holding_id").annotate(n=Sum("minutes")))
    assert days == {held: 120, 0: 120}
    services.extend_booking(actor=house.operator, holding_id=held, until=None, now=NOW)
    roll()
    assert set(UsageHour.objects.values_list("holding_id", flat=True)) == {held}


def test_a_booking_ended_before_its_start_covers_nothing(house: make.House, card: Card) -> None:
    held = book(house, card, 2, 4)
    services.end_booking(actor=house.operator, holding_id=held, at=START, now=NOW)
    assert CardHolding.objects.get(pk=held).span.isempty
    book(house, card, 0, None)


def test_an_extension_may_not_reach_into_anothers_time(house: make.House, card: Card) -> None:
    held = book(house, card, 0, 1)
    book(house, card, 2, 3)
    with pytest.raises(Refused, match="held by someone else"):
        services.extend_booking(
            actor=house.operator, holding_id=held, until=START + 3 * HOUR, now=NOW
        )
    with pytest.raises(Refused):
        services.end_booking(actor=house.operator, holding_id=held, at=START + 2 * HOUR, now=NOW)


def test_half_a_minute_belongs_to_who_held_its_beginning(house: make.House, card: Card) -> None:
    services.book_card(
        actor=house.operator,
        card_id=card.pk,
        starts_at=START + timedelta(seconds=30),
        ends_at=START + timedelta(minutes=10, seconds=30),
        project_id=house.project.pk,
        now=NOW,
    )
    roll()
    held = UsageHour.objects.exclude(holding_id=0).aggregate(n=Sum("minutes"))
    assert held["n"] == 10
    assert UsageHour.objects.aggregate(n=Sum("minutes"))["n"] == 240


def test_time_whose_minutes_are_gone_is_not_attributed_anew(house: make.House, card: Card) -> None:
    roll()
    services.keep(now=NOW + timedelta(days=60))
    with pytest.raises(Refused, match="attributed for good"):
        book(house, card, 0, 2)
    services.book_card(
        actor=house.operator,
        card_id=card.pk,
        starts_at=NOW + timedelta(days=60),
        ends_at=None,
        project_id=house.project.pk,
        now=NOW,
    )


def test_free_and_idle_cards(house: make.House, card: Card) -> None:
    book(house, card, 0, 2)
    during = Period(START, START + HOUR)
    after = Period(START + 2 * HOUR, START + 3 * HOUR)
    assert {one.uuid for one in queries.free_cards("h100-80gb-sxm5", during)} == {"GPU-1", "GPU-2"}
    assert len(queries.idle_cards(after)) == 3
    assert queries.free_cards("a100-80gb-sxm4", after) == []


def race(house: make.House, card: Card, locked: bool) -> list[str]:
    """Two bookings of the same hour at once; without the constraint both would go through."""
    if not locked:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE telemetry_cardholding DROP CONSTRAINT card_held_once")
    barrier = threading.Barrier(2)
    ends: list[str] = []

    def one() -> None:
        barrier.wait()
        try:
            book(house, card, 0, 1)
            ends.append("booked")
        except DomainError as error:
            ends.append(error.reason.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(ends)


@pytest.mark.django_db(transaction=True)
def test_two_at_once_book_a_card_once(house: make.House) -> None:
    ingest([row()])
    assert race(house, Card.objects.get(uuid="GPU-0"), locked=True) == ["booked", "card_held"]


@pytest.mark.django_db(transaction=True)
def test_it_is_the_constraint_that_refuses(house: make.House) -> None:
    from django.db import connection as here

    from governance.telemetry.models import CardHolding as Model

    ingest([row()])
    try:
        assert race(house, Card.objects.get(uuid="GPU-0"), locked=False) == ["booked", "booked"]
    finally:
        Model.objects.all().delete()
        with here.schema_editor() as editor:
            [constraint] = [c for c in Model._meta.constraints if c.name == "card_held_once"]
            editor.add_constraint(Model, constraint)
