"""Request list, approval inbox, API page and export at 5,000 requests, 500 projects and 2,000
people. Server time of one process, the median of ten; queries are the last call's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from governance.accounts.models import Membership, Project, Team, User
from governance.plumbing import clock
from governance.requests.models import ComputeRequest, Match
from tests import make
from tests.requests import market

REQUESTS, PROJECTS, PEOPLE, TEAMS = 5_000, 500, 2_000, 20
REPEATS = 10


def run() -> tuple[dict[str, float], dict[str, str]]:
    """Seed, warm up, measure."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    storages = {**settings.STORAGES, "staticfiles": plain}
    with override_settings(STORAGES=storages, ALLOWED_HOSTS=["*"]):
        return _run()


def _run() -> tuple[dict[str, float], dict[str, str]]:
    house, waiting = _seed()
    approver, lead = Client(), Client()
    approver.force_login(house.approver)
    lead.force_login(house.lead)
    figures: dict[str, float] = {"requests": REQUESTS, "waiting": waiting}
    units = {"requests": "rows", "waiting": "rows"}
    pages: dict[str, Callable[[], Any]] = {
        "list_page": lambda: approver.get("/requests/"),
        "list_last_page": lambda: approver.get("/requests/?page=200"),
        "list_search": lambda: approver.get("/requests/?q=13B&state=approved"),
        "inbox_page": lambda: approver.get("/approvals/"),
        "api_page": lambda: approver.get("/api/v1/requests/"),
    }
    for name, ask in pages.items():
        answer, taken, queries = _measure(ask)
        assert answer.status_code == 200, (name, answer.status_code)
        figures |= {f"{name}_ms": taken, f"{name}_queries": queries}
        units |= {f"{name}_ms": "ms", f"{name}_queries": "queries"}
        figures[f"{name}_kb"] = len(answer.content) / 1000
        units[f"{name}_kb"] = "kB"
    start = time.perf_counter()
    export = b"".join(approver.get("/requests/export/").streaming_content)
    figures |= {"export_s": time.perf_counter() - start, "export_rows": export.count(b"\n") - 1}
    units |= {"export_s": "s", "export_rows": "rows"}
    return figures, units


def _measure(ask: Callable[[], Any]) -> tuple[Any, float, int]:
    ask()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - start) * 1000)
    with CaptureQueriesContext(connection) as seen:
        answer = ask()
    return answer, statistics.median(times), len(seen)


def _seed() -> tuple[make.House, int]:
    house = make.house()
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    at = market.stage(house, now, limit="100000000")
    first = market.submitted(at)
    people = User.objects.bulk_create(
        [User(email=f"p{n}@bench.test", name=f"Person {n}") for n in range(PEOPLE)]
    )
    teams = Team.objects.bulk_create(
        [Team(slug=f"bench-{n}", name=f"Team {n}") for n in range(TEAMS)]
    )
    Membership.objects.bulk_create(
        [
            Membership(user=p, team=teams[n % TEAMS], role="member", starts_on=date(2020, 1, 1))
            for n, p in enumerate(people)
        ]
    )
    projects = Project.objects.bulk_create(
        [
            Project(team=teams[n % TEAMS], slug=f"bp{n}", name=f"Project {n}")
            for n in range(PROJECTS)
        ]
    )
    states = ("submitted", "approved", "refused", "completed", "active")
    rows = [
        ComputeRequest(
            project=projects[n % PROJECTS],
            requester=people[n % PEOPLE],
            title=first.title,
            state=states[n % len(states)],
            state_since=now - timedelta(hours=n % 700),
            business_type="fine_tuning",
            spec=first.spec,
            starts_at=first.starts_at,
            needed_by=first.needed_by,
            ends_at=first.ends_at,
            package=first.package,
            amount=first.amount,
            currency=first.currency,
            round=1,
            waits_for="requests.approve" if n % len(states) == 0 else "",
            due_at=first.due_at if n % len(states) == 0 else None,
            created_at=now,
            submitted_at=now,
        )
        for n in range(REQUESTS - 1)
    ]
    made = ComputeRequest.objects.bulk_create(rows, batch_size=500)
    assert first.match is not None
    Match.objects.bulk_create(
        [
            Match(
                request=row,
                created_at=now,
                engine=first.match.engine,
                prices_on=now.date(),
                spec=first.spec,
                result={},
            )
            for row in made
        ],
        batch_size=500,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return house, ComputeRequest.objects.filter(state="submitted").count()
