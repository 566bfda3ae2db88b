"""An approved change of a running request is made on its rental by the outbox, once."""

from datetime import timedelta

import pytest

from governance.accounts.services import close_account
from governance.budgets.models import Hold
from governance.kernel.errors import Busy
from governance.kernel.policy import SYSTEM
from governance.notices.models import Notice
from governance.plumbing import clock, outbox
from governance.rentals import handlers, services
from governance.rentals.models import Rental, RentalChange
from governance.requests import handlers as request_handlers
from governance.requests import queries as requests
from governance.requests import services as request_services
from tests.racing import together
from tests.rentals.make import charge
from tests.rentals.test_purchase import NOW, approved, buy  # noqa: F401

LATER = NOW + timedelta(hours=1)


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: LATER)


@pytest.fixture
def running(house, approved):  # noqa: F811
    """Alice's request with its rental, an hour old."""
    rental = Rental.objects.get(pk=buy(house, approved))
    outbox.drain()
    return rental


def agreed(house, rental, change, *, units=0, **wish):
    """A change asked by Alice and approved by those whose turn it is."""
    draft = request_services.request_change(
        actor=house.member, request_id=rental.request_id, change=change, reason="x", now=LATER,
        **wish,
    )  # fmt: skip
    if units:
        packages = draft.match.result["packages"]
        key = next(f"{p['offer_id']}:{p['count']}" for p in packages if p["units"] == units)
        request_services.choose_package(actor=house.member, request_id=draft.pk, key=key, now=LATER)
    request_services.submit(actor=house.member, request_id=draft.pk, now=LATER)
    found = requests.by_id(draft.pk)
    while found.state == "submitted":
        signer = house.approver if found.waits_for == "requests.approve" else house.finance
        found = request_services.approve(actor=signer, request_id=draft.pk, now=LATER)
    assert found.state == "approved"
    return found


def test_an_extension(house, running):
    change = agreed(house, running, "extend", until=running.ends_at + timedelta(days=5))
    before = running.ends_at
    outbox.drain()
    running.refresh_from_db()
    assert running.ends_at == before + (change.ends_at - change.starts_at)
    parent, change = requests.by_id(running.request_id), requests.by_id(change.pk)
    assert (parent.state, parent.ends_at, change.state) == ("extended", running.ends_at, "active")
    assert Notice.objects.filter(text=request_handlers.CHANGED, person=house.member).count() == 1
    for _again in range(2):
        handlers.follow({"request": change.pk})
    assert RentalChange.objects.filter(rental=running, kind="extend").count() == 1
    charge(running.ends_at + timedelta(days=1))
    services.advance_states(actor=SYSTEM, now=running.ends_at + timedelta(days=1))
    assert requests.by_id(running.request_id).state == "completed"
    assert requests.by_id(change.pk).state == "completed"
    assert not Hold.objects.filter(released_at=None).exists()


def test_more_cards_and_fewer_again_with_their_holds(house, running):
    had = running.cards
    change = agreed(house, running, "more", max_cards=8, units=had * 2)
    outbox.drain()
    old = running.hold_key
    running.refresh_from_db()
    assert (running.cards, running.hold_key) == (had * 2, change.hold_key)
    assert Hold.objects.get(key=old).released_at is not None
    assert Hold.objects.get(key=change.hold_key).released_at is None
    row = RentalChange.objects.get(rental=running)
    assert (row.kind, row.quantity, row.at) == ("upgrade", had * 2, LATER)
    less = agreed(house, running, "fewer", max_cards=had, units=had)
    outbox.drain()
    running.refresh_from_db()
    assert (running.cards, running.hold_key) == (had, less.hold_key)
    left = Hold.objects.filter(released_at=None).values_list("key", flat=True)
    assert list(left) == [less.hold_key]


def test_an_early_end(house, running):
    at = LATER + timedelta(minutes=50)
    change = agreed(house, running, "end", until=at)
    outbox.drain()
    running.refresh_from_db()
    assert (running.ends_at, running.state) == (at, "ended_early")
    assert requests.by_id(change.pk).state == "completed"
    assert Hold.objects.get(key=change.hold_key).released_at is not None


def test_what_the_rental_does_not_allow_is_left_to_the_buyers(house, running):
    change = agreed(house, running, "extend", until=running.ends_at + timedelta(days=5))
    Rental.objects.filter(pk=running.pk).update(state="stopped")
    outbox.drain()
    assert requests.by_id(change.pk).state == "approved"
    assert change in requests.approved_waiting(house.operator)
    assert not RentalChange.objects.filter(rental=running, kind="extend").exists()
    assert requests.by_id(running.request_id).state == "active"


def test_a_rental_follows_its_request_to_the_heir_of_a_leaver(house, running):
    close_account(actor=house.admin, user_id=house.member.pk, heir_id=house.lead.pk, now=LATER)
    assert requests.by_id(running.request_id).requester_id == house.lead.pk
    draft = request_services.request_change(
        actor=house.lead,
        request_id=running.request_id,
        change="extend",
        until=running.ends_at + timedelta(days=5),
        now=LATER,
    )
    assert draft.requester_id == house.lead.pk


@pytest.mark.django_db(transaction=True)
def test_two_deliveries_at_once_change_once(house, running):
    change = agreed(house, running, "extend", until=running.ends_at + timedelta(days=5))

    def deliver():
        return services.follow_request(request_id=change.pk, now=LATER)

    answers = together(deliver, deliver)
    assert answers.count(True) == 1
    assert all(one in (True, False) or isinstance(one, Busy) for one in answers)
    assert RentalChange.objects.filter(rental=running, kind="extend").count() == 1
    assert requests.by_id(change.pk).state == "active"
