"""Agent and server together: the real push into the real API, no row lost, none twice."""

from __future__ import annotations

import time

import pytest
from django.db import connection

from collector.agent import Agent
from collector.model import Card, Reading
from collector.push import Pusher
from collector.settings import load
from collector.spool import Spool
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry.services import enrol_node
from tests.collector.conftest import uuid

pytestmark = pytest.mark.django_db(transaction=True)
MINUTES = 30


def _count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM telemetry_minutesample")
        return cursor.fetchone()[0]


def test_pushed_pages_arrive_once(live_server, spool: Spool) -> None:
    enrolment = enrol_node(actor=SYSTEM, name="rented-1", mode="push", now=clock.now())
    settings = load(
        {
            "data_dir": spool.folder,
            "push_url": f"{live_server.url}/api/v1/samples",
            "push_token": enrolment.token,
            "page_limit": "25",
        },
        None,
        {},
    )
    start = time.time() // 60 * 60 - 60 * (MINUTES + 5)
    for minute in range(MINUTES):
        readings = [
            (Card("nvidia", uuid(n), model="NVIDIA H100 80GB HBM3", index=n), n) for n in range(2)
        ]
        spool.store(
            [
                (
                    start + 60 * minute,
                    [(c, Reading("nvml_gpm", bandwidth=0.2 + n / 10)) for c, n in readings],
                )
            ]
        )
    spool.fold_until(None)
    pusher = Pusher(Agent(settings, spool, None), settings)
    first = spool.meta("push_cursor")
    while pusher.step() == 0.0:
        pass
    assert pusher._agent.health["push"]["state"] == "ok"
    assert _count() == 2 * MINUTES
    spool.set_meta("push_cursor", first or f"{spool.epoch}:0")
    while pusher.step() == 0.0:  # everything once more, as after a lost answer
        pass
    assert _count() == 2 * MINUTES


def test_a_wrong_token_is_refused_and_nothing_is_lost(live_server, spool: Spool, card) -> None:
    spool.store([(time.time() - 300, [(card, Reading("nvml_gpm", bandwidth=0.2))])])
    spool.fold_until(None)
    settings = load(
        {
            "data_dir": spool.folder,
            "push_url": f"{live_server.url}/api/v1/samples",
            "push_token": "not-a-token",
        },
        None,
        {},
    )
    pusher = Pusher(Agent(settings, spool, None), settings)
    assert pusher.step() > 0
    assert "HTTP 401" in pusher._agent.health["push"]["detail"]
    assert spool.meta("push_cursor") is None
    assert _count() == 0
