"""The administrator's pages: approval policy and working calendar."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from governance.kernel.errors import Invalid
from governance.kernel.policy import can, require
from governance.plumbing import clock
from governance.requests import queries, services
from governance.requests.forms import FileForm, PolicyForm


@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest) -> HttpResponse:
    """The rules in force, older and coming versions, and a form for the next."""
    now = clock.now()
    row, rules = services.current_policy(now)
    form = PolicyForm(request.POST or None, initial={"rules": row.rules, "valid_from": now})
    if request.method == "POST":
        require(request.user, "policies.manage")
        if form.is_valid():
            data = form.cleaned_data
            try:
                services.set_policy(
                    actor=request.user,
                    rules=data["rules"],
                    valid_from=max(data["valid_from"], now),
                    note=data["note"],
                    now=now,
                )
            except Invalid as error:
                form.add_error("rules", f"{error.field}: {error.reason.render(_)}")
            else:
                messages.success(request, _("The new version is kept."))
                return redirect(reverse("requests:policy"))
    context = {
        "row": row,
        "rules": rules,
        "versions": queries.policies(),
        "form": form,
        "may": can(request.user, "policies.manage"),
    }
    return render(request, "requests/policy.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def calendar(request: HttpRequest) -> HttpResponse:
    """Public holidays and make-up workdays, a CSV per year."""
    form = FileForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        require(request.user, "policies.manage")
        if form.is_valid():
            try:
                count = services.import_calendar(
                    actor=request.user, data=form.cleaned_data["file"].read(), now=clock.now()
                )
            except Invalid as error:
                form.add_error("file", error.reason.render(_))
            else:
                messages.success(request, _("%(count)s days kept.") % {"count": count})
                return redirect(reverse("requests:calendar"))
    context = {
        "form": form,
        "days": queries.calendar_days(),
        "may": can(request.user, "policies.manage"),
    }
    return render(request, "requests/calendar.html", context, status=400 if form.errors else 200)
