"""Pages of vendors' invoices: import, compare line by line, book what differs."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.kernel.errors import Invalid
from governance.kernel.policy import require
from governance.plumbing import clock
from governance.reports import services
from governance.reports.forms import InvoiceUpload
from governance.reports.queries import invoices as queries
from governance.reports.viewers import viewer_of


@require_http_methods(["GET", "HEAD", "POST"])
def invoices(request: HttpRequest) -> HttpResponse:
    """All invoices, and the form that brings one in."""
    viewer = viewer_of(request)
    require(viewer, "invoices.manage")
    form = InvoiceUpload(request.POST or None, request.FILES or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                invoice, new = services.import_invoice(
                    actor=viewer, now=clock.now(), **form.asked()
                )
            except Invalid as wrong:
                place = wrong.field if wrong.field in form.fields else None
                form.add_error(place, wrong.reason.render(_))
            else:
                told = _("Imported.") if new else _("It was here already; nothing changed.")
                messages.success(request, told)
                return redirect("reports:invoice", invoice.pk)
    context = {"invoices": queries.invoices(viewer), "form": form}
    return render(request, "reports/invoices.html", context, status=status)


@require_GET
def invoice(request: HttpRequest, pk: int) -> HttpResponse:
    """One invoice beside our charges."""
    context = {"invoice": queries.invoice_for(viewer_of(request), pk)}
    return render(request, "reports/invoice.html", context)


@require_POST
def settle(request: HttpRequest, pk: int, line: int) -> HttpResponse:
    """Book a line's difference."""
    try:
        services.settle(
            actor=viewer_of(request),
            line_id=line,
            reason=request.POST.get("reason", ""),
            now=clock.now(),
        )
    except Invalid as wrong:
        messages.error(request, wrong.reason.render(_))
    else:
        messages.success(request, _("Booked as an adjustment."))
    return redirect("reports:invoice", pk)
