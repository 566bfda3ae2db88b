"""Many requests in one act: all or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from governance.accounts import queries as accounts
from governance.kernel.errors import DomainError, Missing
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_
from governance.requests import queries
from governance.requests.domain import bulk
from governance.requests.models import ComputeRequest
from governance.requests.services.drafting import create_draft, submit
from governance.requests.services.matching import read_ask


def import_requests(
    *, actor: Actor, rows: Sequence[Mapping[str, Any]], submit_them: bool, now: datetime
) -> list[ComputeRequest]:
    """Create (and submit) a request per row; the first fault undoes all and names its place."""
    zone = queries.zone()
    with transaction.atomic():
        return [
            _one(actor, row, _line(row, n), zone, submit_them, now) for n, row in enumerate(rows, 1)
        ]


def _line(row: Mapping[str, Any], number: int) -> int:
    """Where the row stood in its file, or its number among those sent."""
    known = str(row.get(""))
    return int(known) if known.isdecimal() else number


def _one(
    actor: Actor,
    row: Mapping[str, Any],
    line: int,
    zone: Any,
    submit_it: bool,
    now: datetime,
) -> ComputeRequest:
    stray = sorted(set(row) - set(bulk.COLUMNS) - {""})
    if stray:
        raise bulk.bad(line, stray[0], N_("this column is not known, or stands twice"))
    starts_at = bulk.moment(row.get("starts_at"), zone, line, "starts_at")
    if starts_at is None:
        raise bulk.bad(line, "starts_at", N_("a time such as 2026-12-01T09:00 is needed"))
    needed_by = bulk.moment(row.get("needed_by"), zone, line, "needed_by")
    try:
        project = accounts.project_for(actor, str(row.get("project", "")))
    except Missing as error:
        raise bulk.bad(line, "project", N_("there is no such project")) from error
    try:
        request = create_draft(
            actor=actor,
            project_id=project.pk,
            ask=read_ask(
                bulk.spec_of(row), str(row.get("business_type", "")), starts_at, needed_by
            ),
            reason=str(row.get("reason", "")),
            worth=str(row.get("worth") or "deadline"),
            now=now,
        )
        if submit_it:
            key = str(row.get("package") or "") or None
            request = submit(actor=actor, request_id=request.pk, key=key, now=now)
        return request
    except DomainError as error:
        field = getattr(error, "field", None) or error.reason.code
        raise bulk.bad(line, field, str(error.reason)) from error
