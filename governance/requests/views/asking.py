"""The requester's pages: list, new, edit, one request."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.accounts import queries as accounts
from governance.kernel.errors import DomainError, Invalid
from governance.kernel.policy import can
from governance.plumbing import clock
from governance.requests import queries, services
from governance.requests.charts import cost_against_time
from governance.requests.domain import checklist
from governance.requests.domain.known import known_items
from governance.requests.domain.lifecycle import REQUEST
from governance.requests.domain.spec import total_tokens
from governance.requests.forms import (
    ChangeForm,
    FilterForm,
    RequestForm,
    TextForm,
    TrialForm,
    first_values,
    values_of,
)
from governance.requests.models import ComputeRequest
from governance.requests.presenting import (
    PackageRow,
    package_rows,
    rejected_groups,
    stored_package,
    strip_of,
)
from governance.requests.tables import request_table
from governance.requests.views.evidence import budget_lines


def projects_for(request: HttpRequest) -> list[Any]:
    """Projects in which the reader may ask."""
    rows = accounts.projects_visible_to(request.user).select_related("team", "cost_centre")
    return [p for p in rows.filter(closed_at=None) if can(request.user, "requests.create", p)]


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """All requests that the reader may see, filtered."""
    form = FilterForm(request.GET)
    filters = form.cleaned_data if form.is_valid() else {}
    rows = queries.filtered(request.user, filters)
    table = request_table(rows, request.GET)
    return render(request, "requests/list.html", {"form": form, "table": table})


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form with its live answer; saves a draft or submits."""
    projects = projects_for(request)
    if request.method == "POST":
        form = RequestForm(request.POST, projects=projects)
        if form.is_valid() and request.POST.get("act") != "preview":
            return _save(request, form, None)
    else:
        initial = first_values(projects, clock.now())
        form = RequestForm(initial, projects=projects)
        form.full_clean()
    context = {**answer_context(request, form), "form": form, "projects": projects}
    return render(request, "requests/new.html", context)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """A draft, or a request that was asked back, in the same form."""
    row = queries.request_for(request.user, pk)
    projects = projects_for(request)
    if request.method == "POST":
        form = RequestForm(request.POST, projects=projects)
        if form.is_valid() and request.POST.get("act") != "preview":
            return _save(request, form, row)
    else:
        form = RequestForm(_as_data(values_of(row)), projects=projects)
        form.full_clean()
    context = {**answer_context(request, form, row), "form": form, "row": row}
    return render(request, "requests/new.html", context)


@require_POST
def packages(request: HttpRequest) -> HttpResponse:
    """The right side of the form, as one types."""
    form = RequestForm(request.POST, projects=projects_for(request))
    form.is_valid()
    return render(request, "requests/_answer.html", {**answer_context(request, form), "form": form})


def answer_context(
    request: HttpRequest, form: RequestForm, row: ComputeRequest | None = None
) -> dict[str, Any]:
    """Packages, chart, checklist and the sentence for what the form says now."""
    asked = form.ask
    if asked is None:
        return {"asked": None, "answers": form.answers()}
    now = clock.now()
    result = services.find_packages(asked, now)
    rows = package_rows(result, str(form["package"].value() or ""), asked.starts_at)
    chosen = next((r for r in rows if r.chosen), None)
    project = next((p for p in projects_for(request) if p.slug == form["project"].value()), None)
    typed = form.answers() if form.data.get("csrfmiddlewaretoken") or row is None else row.answers
    return {
        "asked": asked,
        "now": now,
        "result": result,
        "rows": rows,
        "chosen": chosen,
        "notes": list(dict.fromkeys(note for r in rows for note in r.notes)),
        "rejected": rejected_groups(result),
        "chart": cost_against_time(result.packages, asked.spec.deadline_hours),
        "tokens": total_tokens(asked.spec),
        "checks": checklist.lines(asked.business_type, _known(asked, chosen), typed),
        "budgets": budget_lines(project, chosen, asked.starts_at, now) if project else [],
        "deciders": accounts.holders("requests.approve", queries.local_day(now)).exclude(
            pk=request.user.pk
        )[:3],
    }


def _known(asked: Any, chosen: PackageRow | None) -> dict[str, str]:
    from governance.matching.codec import to_json

    return known_items(
        asked.spec, asked.needed_by, to_json(chosen.package) if chosen is not None else None
    )


def _as_data(values: dict[str, Any]) -> dict[str, Any]:
    return {k: "" if v is None else v for k, v in values.items()}


def _save(request: HttpRequest, form: RequestForm, row: ComputeRequest | None) -> HttpResponse:
    now = clock.now()
    data = form.cleaned_data
    assert form.ask is not None
    said = {"ask": form.ask, "reason": data["reason"], "worth": data["worth"]}
    try:
        if row is None:
            project = accounts.project_for(request.user, data["project"])
            row = services.create_draft(
                actor=request.user, project_id=project.pk, answers=form.answers(), now=now, **said
            )
        else:
            services.edit_draft(
                actor=request.user, request_id=row.pk, answers=form.answers(), now=now, **said
            )
        if request.POST.get("act") == "submit":
            services.submit(
                actor=request.user, request_id=row.pk, key=data["package"] or None, now=now
            )
            messages.success(request, _("Submitted. You will hear when it is decided."))
        else:
            if data["package"]:
                services.choose_package(
                    actor=request.user, request_id=row.pk, key=data["package"], now=now
                )
            messages.success(request, _("Saved as a draft; only you see it."))
    except Invalid as error:
        if row is None:
            raise
        messages.error(request, _say(error))
        return redirect(reverse("requests:edit", args=[row.pk]))
    return redirect(reverse("requests:detail", args=[row.pk]))


def _say(error: DomainError) -> str:
    params = {k: _(v) if isinstance(v, str) and v else v for k, v in error.reason.params.items()}
    return _(error.reason.text) % params if params else _(error.reason.text)


@require_GET
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One request: states, package and prediction, chain, messages, checklist, trail."""
    now = clock.now()
    day = queries.local_day(now)
    row = queries.request_to_sign(request.user, pk, day)
    steps = queries.steps_of(row)
    package = stored_package(row)
    turn = queries.turn_of(row, queries.open_step(row), request.user, day)
    own = can(request.user, "requests.own", row)
    context = {
        "row": row,
        "steps": steps,
        "strip": strip_of(row, [s for s in steps if s.round == row.round]),
        "package": PackageRow(package, True, row.starts_at) if package else None,
        "checks": services.checklist_of(row),
        "thread": queries.messages_of(row),
        "trail": queries.trail_of(row),
        "matches": queries.matches_of(row),
        "followers": queries.followers_of(row),
        "may_own": own,
        "may_sign": can(request.user, "requests.approve", turn),
        "may_write": can(request.user, "requests.write", row),
        "acts": REQUEST.acts_from(row.state),
        "deciders": queries.deciders(row, day),
        "budgets": budget_lines(row.project, None, row.starts_at, now, row),
        "text_form": TextForm(),
        "change_form": ChangeForm(),
        "trial_form": TrialForm(),
    }
    return render(request, "requests/detail.html", context)
