"""Every route as every actor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from governance.plumbing import clock
from governance.plumbing.models import AuditEvent, OutboxEvent
from tests import make
from tests.matrix.collect import declared, existing, rooms, table
from tests.matrix.shapes import ACTORS, Route, World

ROUTES = declared()
MARKS = {"pass": "passes", "forbidden": 403, "missing": 404}


def test_every_route_is_declared() -> None:
    """A route nobody declared has not been thought about: add it to tests/matrix/ROOM.py."""
    assert sorted(set(existing()) - {route.name for route in ROUTES}) == []


def test_every_declared_route_exists() -> None:
    assert sorted({route.name for route in ROUTES} - set(existing())) == []


def test_the_table_in_the_docs_is_up_to_date(pytestconfig: pytest.Config) -> None:
    kept = Path(pytestconfig.rootpath, "docs", "permissions.md").read_text(encoding="utf-8")
    assert kept == table(), "run: python -m tests.matrix"


@pytest.mark.timeout(300)
@pytest.mark.django_db
@pytest.mark.parametrize("room", sorted(rooms()))
def test_answers(room: str, house: make.House) -> None:
    """Each route as each actor, each in a transaction of its own that is undone.

    Who is turned away leaves nothing behind but the trace of the attempt."""
    world = World(house=house, now=clock.now())
    if hasattr(rooms()[room], "prepare"):
        rooms()[room].prepare(world)
    faults = []
    for route in rooms()[room].ROUTES:
        for actor in ACTORS:
            got = _ask(route, actor, world)
            if got != _wanted(route, actor):
                faults.append(f"{route.method} {route.name} as {actor}: {got}")
    assert faults == []


def _wanted(route: Route, actor: str) -> Any:
    expected = route.expected(actor)
    if expected == "sign-in":
        return 401 if route.is_api else "sign-in"
    return MARKS[expected]


def _ask(route: Route, actor: str, world: World) -> Any:
    address = reverse(route.name, args=route.args(world)) + route.query
    with transaction.atomic():
        before = _traces()
        answer = _send(route, actor, address, world)
        status = answer.status_code
        if status in {401, 403, 404} and _traces() != before:
            status = f"{status}, yet something was written"
        transaction.set_rollback(True)
    if status in {302, 303} and "/accounts/login/" in answer.get("Location", ""):
        return "sign-in"
    if isinstance(status, int) and status not in {401, 403, 404, 500}:
        return "passes"
    return status


def _traces() -> tuple[int, int]:
    acts = AuditEvent.objects.exclude(act__endswith=".denied")
    return acts.count(), OutboxEvent.objects.count()


def _send(route: Route, actor: str, address: str, world: World) -> Any:
    person = None if actor == "anonymous" else getattr(world.house, actor)
    if person is not None:
        person = type(person).objects.get(pk=person.pk)
    if route.is_api:
        api = APIClient(raise_request_exception=False)
        if person is not None and route.machine:
            api.force_login(person)
        elif person is not None:
            api.force_authenticate(person)
        send = getattr(api, route.method.lower())
        return send(address) if route.method == "GET" else send(address, route.data(world))
    client = Client(raise_request_exception=False)
    if person is not None:
        client.force_login(person)
    send = getattr(client, route.method.lower())
    return send(address) if route.method == "GET" else send(address, route.data(world))
