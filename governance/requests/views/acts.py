"""Acts by POST; each is one service call and leads back to where it was pressed."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from governance.kernel.errors import Invalid, Refused
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.requests import services
from governance.requests.forms import ChangeForm, ConditionsForm, TextForm, TrialForm


def back(request: HttpRequest, pk: int) -> HttpResponse:
    """To the page named by `next` (of this site only), else to the request."""
    wanted = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}):
        return redirect(wanted)
    return redirect(reverse("requests:detail", args=[pk]))


def checked(form: Any) -> Any:
    """The form's values; Invalid names the first wrong field."""
    if not form.is_valid():
        field, errors = next(iter(form.errors.items()))
        label = form.fields[field].label if field in form.fields else field
        raise Invalid(
            Reason(
                "field",
                N_("%(field)s: %(error)s"),
                {"field": label, "error": " ".join(errors)},
            ),
            field,
        )
    return form.cleaned_data


@require_POST
def submit(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        services.submit(actor=request.user, request_id=pk, now=clock.now())
    except Invalid as error:
        messages.error(request, error.reason.render(_))
        return redirect(reverse("requests:edit", args=[pk]))
    messages.success(request, _("Submitted. You will hear when it is decided."))
    return back(request, pk)


@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    services.withdraw(
        actor=request.user, request_id=pk, reason=request.POST.get("text", ""), now=clock.now()
    )
    messages.success(request, _("Withdrawn."))
    return back(request, pk)


@require_POST
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    form = ConditionsForm(request.POST)
    data = checked(form)
    try:
        row = services.approve(
            actor=request.user,
            request_id=pk,
            text=data["text"],
            conditions=form.conditions(),
            now=clock.now(),
        )
    except Refused as error:
        if error.reason.code != "budget":
            raise
        messages.error(request, error.reason.render(_))
        return back(request, pk)
    done = row.state == "approved"
    messages.success(request, _("Approved; the budget is held.") if done else _("Signed."))
    return back(request, pk)


@require_POST
def ask_back(request: HttpRequest, pk: int) -> HttpResponse:
    data = checked(TextForm(request.POST))
    services.ask_back(actor=request.user, request_id=pk, text=data["text"], now=clock.now())
    messages.success(request, _("Asked back."))
    return back(request, pk)


@require_POST
def refuse(request: HttpRequest, pk: int) -> HttpResponse:
    data = checked(TextForm(request.POST))
    services.refuse(actor=request.user, request_id=pk, text=data["text"], now=clock.now())
    messages.success(request, _("Refused."))
    return back(request, pk)


@require_POST
def message(request: HttpRequest, pk: int) -> HttpResponse:
    data = checked(TextForm(request.POST))
    services.write_message(actor=request.user, request_id=pk, text=data["text"], now=clock.now())
    return back(request, pk)


@require_POST
def trial(request: HttpRequest, pk: int) -> HttpResponse:
    form = TrialForm(request.POST)
    data = checked(form)
    services.record_trial(
        actor=request.user,
        request_id=pk,
        measured_at=data["measured_at"],
        figures=form.figures(),
        passed=data["passed"],
        note=data["note"],
        now=clock.now(),
    )
    messages.success(request, _("Trial recorded."))
    return back(request, pk)


@require_POST
def clone(request: HttpRequest, pk: int) -> HttpResponse:
    row = services.clone(actor=request.user, request_id=pk, now=clock.now())
    return redirect(reverse("requests:edit", args=[row.pk]))


@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    data = checked(ChangeForm(request.POST))
    row = services.request_change(
        actor=request.user,
        request_id=pk,
        change=data["change"],
        until=data["until"],
        max_cards=data["max_cards"],
        cards=tuple(c.strip() for c in data["cards"].split(",") if c.strip()),
        reason=data["reason"],
        now=clock.now(),
    )
    return redirect(reverse("requests:edit", args=[row.pk]))
