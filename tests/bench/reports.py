"""Report queries and pages, and the nightly judgement, over 10,000 cards and 90 days."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from statistics import median

from django.conf import settings
from django.test import Client, override_settings

from governance.accounts.models import Grant, User
from governance.reports import queries, services
from governance.reports.viewers import EVERYTHING
from tests.bench import _fleet

CARDS, DAYS = int(os.environ.get("BENCH_CARDS", "10000")), 90
NAMES = ("utilization", "cost", "price-comparison", "vendors", "commitments", "downgrade")


def run() -> tuple[Mapping[str, float], Mapping[str, str]]:
    """Milliseconds of each report's query and page (median of three), seconds of a night."""
    _fleet.load(CARDS, DAYS)
    today = _fleet.TODAY
    now = datetime(today.year, today.month, today.day, 12, tzinfo=_fleet.ZONE)
    asked = {"from": str(today - timedelta(days=DAYS - 1)), "to": str(today)}
    figures: dict[str, float] = {"cards": CARDS, "days": DAYS}
    units = {"cards": "cards", "days": "days"}
    figures["judge_s"] = _seconds(lambda: services.judge(day=today, now=now))
    units["judge_s"] = "s"
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    storages = {**settings.STORAGES, "staticfiles": plain}
    with override_settings(STORAGES=storages, ALLOWED_HOSTS=["*"]):
        _reports(figures, units, asked, now)
    return figures, units


def _reports(
    figures: dict[str, float], units: dict[str, str], asked: Mapping[str, str], now: datetime
) -> None:
    today = _fleet.TODAY
    client = Client()
    person = User.objects.create(email="bench@example.test", name="Bench")
    Grant.objects.create(user=person, role="approver", starts_on=today - timedelta(days=900))
    client.force_login(person)
    for name in NAMES:
        key = name.replace("-", "_")
        figures[f"{key}_query_ms"] = 1000 * _median(
            lambda name=name: queries.run(name, EVERYTHING, asked, now)  # type: ignore[misc]
        )
        address = f"/reports/{name}/"
        figures[f"{key}_page_ms"] = 1000 * _median(
            lambda address=address: _ok(client, address, asked)  # type: ignore[misc]
        )
        units |= {f"{key}_query_ms": "ms", f"{key}_page_ms": "ms"}


def _ok(client: Client, address: str, asked: Mapping[str, str]) -> None:
    answer = client.get(address, asked)
    if answer.status_code != 200:
        raise RuntimeError(f"{address}: {answer.status_code}")


def _seconds(what: Callable[[], object]) -> float:
    start = time.perf_counter()
    what()
    return time.perf_counter() - start


def _median(what: Callable[[], object]) -> float:
    return median(_seconds(what) for _ in range(3))
