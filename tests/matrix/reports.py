"""Routes of reports, flags and recommendations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from governance.reports.models import Flag, Judgement, Recommendation
from tests.matrix.shapes import INSIDERS, SEE_ALL, Route
from tests.rentals import make

DECIDES: dict[str, Any] = {"allow": {"approver"}, "forbidden": INSIDERS}


def prepare(world: Any) -> None:
    """A rental with a recommendation that waits."""
    start = world.now - timedelta(days=9)
    rental = make.rental(world.house.project, start=start, now=start)
    day = world.now.date()
    Flag.objects.create(rental=rental, kind="IDLE", state="open", since=day, judged_on=day)
    judged = Judgement.objects.create(
        rental=rental,
        day=world.now.date(),
        window_days=7,
        version=1,
        settings={},
        evidence={},
        findings=[],
        outcome="idle",
        currency="CNY",
        made_at=world.now,
    )
    world.recommendation = Recommendation.objects.create(
        rental=rental,
        kind="IDLE",
        judgement=judged,
        latest=judged,
        opened_on=world.now.date(),
        answer_by=world.now.date(),
        currency="CNY",
        confidence="high",
    )


def one(world: Any) -> list[Any]:
    return [world.recommendation.pk]


ROUTES = [
    Route("reports:index"),
    Route("reports:key_figures"),
    Route("reports:prices"),
    Route("reports:flags"),
    Route("reports:recommendation", args=one, allow=INSIDERS),
    Route("reports:accept", "POST", args=one, **DECIDES),
    Route("reports:dismiss", "POST", args=one, data=lambda w: {"reason": "needed"}, **DECIDES),
    Route(
        "reports:snooze",
        "POST",
        args=one,
        data=lambda w: {"until": (w.now + timedelta(days=5)).date().isoformat()},
        **DECIDES,
    ),
    Route(
        "reports:answer",
        "POST",
        args=one,
        data=lambda w: {"answer": "justify", "text": "A deadline."},
        allow={"lead"},
        forbidden=SEE_ALL | {"member"},
    ),
    Route("reports:report", args=lambda w: ["utilization"]),
    Route("reports:export", args=lambda w: ["utilization", "csv"]),
    Route("api:reports"),
    Route("api:report", args=lambda w: ["utilization"]),
]
