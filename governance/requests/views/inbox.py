"""What waits for a signature, workable by keyboard; delegations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.accounts import queries as accounts
from governance.kernel.policy import require
from governance.plumbing import clock
from governance.requests import queries, services
from governance.requests.evidence import gathered
from governance.requests.forms import ConditionsForm, DelegationForm, TextForm
from governance.requests.models import ComputeRequest
from governance.requests.presenting import PackageRow, cheaper, stored_package
from governance.requests.views.acts import checked
from governance.requests.views.evidence import BudgetLine, budget_lines, budgets_of, tightest

PAGE = 25


@dataclass(frozen=True)
class InboxRow:
    """A request with the figures that decide it."""

    row: ComputeRequest
    package: PackageRow | None
    budget: BudgetLine | None
    late: bool


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """The approver's table."""
    now = clock.now()
    day = queries.local_day(now)
    require(request.user, "requests.inbox", queries.Viewer(queries.stands_in(request.user, day)))
    page = Paginator(queries.inbox(request.user, day), PAGE).get_page(request.GET.get("page"))
    lines = budgets_of(list(page.object_list), now)
    rows = [
        InboxRow(row, _package(row), tightest(lines[row.pk]), _late(row, now))
        for row in page.object_list
    ]
    return render(
        request,
        "requests/approvals.html",
        {"rows": rows, "page": page, "text_form": TextForm(), "now": now},
    )


@require_GET
def row(request: HttpRequest, pk: int) -> HttpResponse:
    """The row opened in place: budgets, cheaper package, chain, checklist, evidence."""
    now = clock.now()
    day = queries.local_day(now)
    found = queries.request_to_sign(request.user, pk, day)
    turn = queries.turn_of(found, queries.open_step(found), request.user, day)
    require(request.user, "requests.approve", turn)
    context = {
        "row": found,
        "package": _package(found),
        "cheaper": cheaper(found),
        "budgets": budget_lines(found.project, None, found.starts_at, now, found),
        "steps": [s for s in queries.steps_of(found) if s.round == found.round],
        "checks": services.checklist_of(found),
        "evidence": gathered(request.user, found, now),
        "form": ConditionsForm(),
    }
    return render(request, "requests/_opened.html", context)


@require_http_methods(["GET", "POST"])
def delegations(request: HttpRequest) -> HttpResponse:
    """Who signs for whom, and when."""
    require(request.user, "delegations.manage")
    now = clock.now()
    day = queries.local_day(now)
    people = accounts.people().exclude(pk=request.user.pk)
    form = DelegationForm(
        request.POST or None, people=people, initial={"starts_on": day, "ends_on": day}
    )
    if request.method == "POST":
        data = checked(form)
        services.delegate(
            actor=request.user,
            taker_id=int(data["taker"]),
            starts_on=data["starts_on"],
            ends_on=data["ends_on"],
            now=now,
        )
        return redirect(reverse("requests:delegations"))
    context = {"form": form, "rows": queries.delegations_of(request.user), "today": day}
    return render(request, "requests/delegations.html", context)


@require_POST
def end_delegation(request: HttpRequest, pk: int) -> HttpResponse:
    services.end_delegation(actor=request.user, delegation_id=pk, now=clock.now())
    return redirect(reverse("requests:delegations"))


def _package(row: ComputeRequest) -> PackageRow | None:
    package = stored_package(row)
    return None if package is None else PackageRow(package, False, row.starts_at)


def _late(row: ComputeRequest, now: datetime) -> bool:
    return row.due_at is not None and row.due_at < now
