"""Pages of flags and recommendations, and the acts on them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from governance.kernel.errors import Invalid
from governance.kernel.reasons import Reason
from governance.plumbing import clock
from governance.reports import flags_page, queries, services
from governance.reports.domain.judgement import KINDS
from governance.reports.forms import Answer, Dismissal, Filters, Snooze
from governance.reports.queries import judged
from governance.reports.viewers import viewer_of


@require_GET
def flags(request: HttpRequest) -> HttpResponse:
    """Which rentals pay for bandwidth they do not use, why, and what to change."""
    viewer = viewer_of(request)
    found = queries.find("downgrade")
    form = Filters(found, viewer, request.GET)
    params = queries.read_params(found, request.GET.dict(), clock.now())
    page = flags_page.build(
        list(judged.latest(viewer, params)),
        list(judged.open_recommendations(viewer)),
        params.currency,
    )
    context = {"page": page, "form": form, "params": params, "legend": flags_page.legend()}
    return render(request, "reports/flags.html", context)


def _shown(request: HttpRequest, pk: int, status: int = 200, **forms: Any) -> HttpResponse:
    one = judged.recommendation_for(viewer_of(request), pk)
    context = {
        "one": one,
        "row": flags_page.flag_row(one.latest, one),
        "kind": KINDS[one.kind],
        "findings": flags_page.findings_of(one.latest),
        "kinds": KINDS,
        "answer_form": Answer(initial={"answer": one.answer, "text": one.answer_text}),
        "dismissal": Dismissal(),
        "snooze": Snooze(),
        "legend": flags_page.legend(),
        **forms,
    }
    return render(request, "reports/recommendation.html", context, status=status)


@require_GET
def recommendation(request: HttpRequest, pk: int) -> HttpResponse:
    """One recommendation: what was seen, what it costs, the team's answer, the decision."""
    return _shown(request, pk)


def _said(request: HttpRequest, text: str) -> HttpResponse:
    messages.success(request, text)
    return redirect("reports:flags")


@require_POST
def accept(request: HttpRequest, pk: int) -> HttpResponse:
    one = services.accept(actor=viewer_of(request), recommendation_id=pk, now=clock.now())
    if one.request_id:
        return _said(request, _("Accepted. A draft of the change waits for its requester."))
    return _said(request, _("Accepted. Those who manage the rental change it."))


@require_POST
def dismiss(request: HttpRequest, pk: int) -> HttpResponse:
    form = Dismissal(request.POST)
    if not form.is_valid():
        return _shown(request, pk, 400, dismissal=form)
    services.dismiss(
        actor=viewer_of(request),
        recommendation_id=pk,
        reason=form.cleaned_data["reason"],
        now=clock.now(),
    )
    return _said(request, _("Dismissed; it may come up again after 14 days."))


@require_POST
def snooze(request: HttpRequest, pk: int) -> HttpResponse:
    form = Snooze(request.POST)
    try:
        if not form.is_valid():
            return _shown(request, pk, 400, snooze=form)
        services.snooze(
            actor=viewer_of(request),
            recommendation_id=pk,
            until=form.cleaned_data["until"],
            now=clock.now(),
        )
    except Invalid as wrong:
        return _wrong(request, pk, form, "snooze", wrong.reason)
    return _said(request, _("Snoozed; it returns on that day if it still holds."))


@require_POST
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    form = Answer(request.POST)
    if not form.is_valid():
        return _shown(request, pk, 400, answer_form=form)
    services.answer(
        actor=viewer_of(request),
        recommendation_id=pk,
        choice=form.cleaned_data["answer"],
        text=form.cleaned_data["text"],
        now=clock.now(),
    )
    return _said(request, _("Thank you. Your answer stands beside the recommendation."))


def _wrong(request: HttpRequest, pk: int, form: Any, name: str, reason: Reason) -> HttpResponse:
    form.add_error(None, reason.render(_))
    return _shown(request, pk, 400, **{name: form})
