"""Use before renting: free cards come first, and approving books them, once."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from governance.kernel.errors import Busy, Refused
from governance.kernel.policy import SYSTEM
from governance.requests import services
from governance.telemetry.models import Card, CardHolding, Node
from governance.telemetry.services import enrol_node
from tests.requests import market


def machine(now: datetime, cards: int = 8, model: str = "a800-80gb-sxm4") -> Node:
    """An enrolled node with working cards of a known model."""
    made = enrol_node(actor=SYSTEM, name=f"own-{Node.objects.count()}", mode="push", now=now)
    node = Node.objects.get(pk=made.node_id)
    for index in range(cards):
        Card.objects.create(
            node=node,
            vendor="nvidia",
            uuid=f"{node.name}-{index}",
            index=index,
            model_text="NVIDIA A800-SXM4-80GB",
            model_slug=model,
        )
    return node


@pytest.fixture
def node(stage: market.Stage, now: datetime) -> Node:
    return machine(now)


def test_free_cards_come_first_and_cost_nothing(stage: market.Stage, node: Node) -> None:
    first = services.find_packages(market.ask(stage.now), stage.now).packages[0]
    assert first.idle_id == f"a800-80gb-sxm4@{node.name}"
    assert first.cost == 0
    assert node.name in " ".join(str(note) for note in first.notes)


def test_approving_books_them_and_rents_nothing(stage: market.Stage, node: Node) -> None:
    request = market.approved(stage)
    assert request.state == "active"
    held = CardHolding.objects.filter(request_id=request.pk)
    assert held.count() == request.package["count"]
    assert {h.span.upper for h in held} == {request.ends_at}
    assert request.amount == 0


def test_the_booking_ends_with_its_time(stage: market.Stage, node: Node) -> None:
    request = market.approved(stage)
    assert request.ends_at is not None
    services.watch(now=request.ends_at + timedelta(minutes=1))
    request.refresh_from_db()
    assert request.state == "completed"


def test_held_cards_are_not_offered(stage: market.Stage, node: Node) -> None:
    request = market.approved(stage)
    left = 8 - int(request.package["count"])
    packages = services.find_packages(market.ask(stage.now), stage.now).packages
    own = [p for p in packages if p.idle_id]
    assert all(p.count <= left for p in own)


def test_cards_taken_meanwhile_stop_the_approval(stage: market.Stage, node: Node) -> None:
    request = market.submitted(stage)
    Card.objects.filter(node=node).update(state="lost")
    with pytest.raises(Refused, match="still free"):
        services.approve(actor=stage.house.approver, request_id=request.pk, now=stage.now)
    request.refresh_from_db()
    assert request.state == "submitted"
    assert not CardHolding.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_approvals_never_book_a_card_twice(stage: market.Stage, now: datetime) -> None:
    machine(now, cards=1)
    wish = {"params_b": 1.5, "max_cards": 1}
    rows = [market.submitted(stage, **wish) for _ in range(2)]
    assert all(row.package["idle_id"] for row in rows)
    barrier = threading.Barrier(2)
    results: list[Any] = []

    def sign(pk: int) -> None:
        barrier.wait()
        try:
            services.approve(actor=stage.house.approver, request_id=pk, now=stage.now)
            results.append("booked")
        except (Refused, Busy):
            results.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=sign, args=(row.pk,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["booked", "refused"]
    assert CardHolding.objects.count() == 1
