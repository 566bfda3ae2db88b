"""Routes of reports, flags and recommendations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from governance.reports.models import (
    Flag,
    Invoice,
    InvoiceLine,
    Judgement,
    Recommendation,
    SavedView,
)
from tests.matrix.shapes import EVERYBODY, INSIDERS, SEE_ALL, Route
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
    invoice = Invoice.objects.create(
        vendor="CloudA",
        external_id="INV-1",
        month=day.replace(day=1),
        currency="CNY",
        digest="",
        imported_at=world.now,
        imported_by="Fay",
    )
    world.invoice_line = InvoiceLine.objects.create(
        invoice=invoice, rental="R1", theirs=2, ours=1, state="differs"
    )
    world.view = SavedView.objects.create(owner=world.house.lead, name="Mine", report="cost")


def line(world: Any) -> list[Any]:
    return [world.invoice_line.invoice_id, world.invoice_line.pk]


def one(world: Any) -> list[Any]:
    return [world.recommendation.pk]


TAKES_OUT: dict[str, Any] = {
    "allow": {"finance", "auditor"},
    "forbidden": EVERYBODY - {"finance", "auditor"},
}
FINANCE: dict[str, Any] = {"allow": {"finance"}, "forbidden": EVERYBODY - {"finance"}}
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
    Route(
        "reports:save_view",
        "POST",
        args=lambda w: ["cost"],
        data=lambda w: {"name": "Again", "query": "", "rhythm": ""},
    ),
    Route("reports:forget_view", "POST", args=lambda w: [w.view.pk], allow={"lead"}),
    Route("reports:exports"),
    Route("reports:statement", args=lambda w: ["2026-11"], **TAKES_OUT),
    Route("reports:focus", args=lambda w: ["2026-11", "1.4"], **TAKES_OUT),
    Route("reports:journal", args=lambda w: ["2026-11"], **TAKES_OUT),
    Route("reports:beancount", args=lambda w: ["2026-11"], **TAKES_OUT),
    Route("reports:invoices", **FINANCE),
    Route("reports:invoice", args=lambda w: line(w)[:1], **FINANCE),
    Route("reports:settle", "POST", args=line, data=lambda w: {"reason": "agreed"}, **FINANCE),
    Route("api:reports"),
    Route("api:report", args=lambda w: ["utilization"]),
]
