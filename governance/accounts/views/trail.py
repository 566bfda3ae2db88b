"""The audit trail: filters, pages, export."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from governance.accounts import queries
from governance.accounts.forms import TrailFilter
from governance.accounts.tables import trail_row, trail_table
from governance.kernel.policy import require
from governance.plumbing.csvs import csv_answer


@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """Who did what to which thing, before and after, and why."""
    viewer: Any = request.user
    require(viewer, "audit.see")
    form = TrailFilter(request.GET)
    rows = queries.trail(form.cleaned_data if form.is_valid() else {})
    context = {
        "form": form,
        "table": trail_table(rows, request.GET),
        "sealed": queries.sealed(),
    }
    return render(request, "accounts/audit.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """The same rows as a CSV file, streamed."""
    viewer: Any = request.user
    require(viewer, "audit.see")
    form = TrailFilter(request.GET)
    rows = queries.trail(form.cleaned_data if form.is_valid() else {})
    heads = [
        _("When"),
        _("Who"),
        _("Act"),
        _("Thing"),
        _("Its number"),
        _("Before"),
        _("After"),
        _("Reason"),
        _("Request id"),
    ]
    return csv_answer("audit", heads, (trail_row(row) for row in rows.iterator(chunk_size=1_000)))
