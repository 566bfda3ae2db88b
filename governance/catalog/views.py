"""The catalogue: card models, vendors, offers, the import of prices."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from governance.catalog import presenting, queries, services
from governance.catalog.forms import FigureForm, ImportForm, OfferFilter
from governance.kernel.errors import Invalid
from governance.kernel.policy import can, require
from governance.plumbing import clock


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """All card models."""
    viewer: Any = request.user
    rows = queries.card_rows(viewer)
    return render(
        request,
        "catalog/index.html",
        {"table": presenting.card_table(rows, request.GET), "count": len(rows)},
    )


@require_GET
def card(request: HttpRequest, slug: str) -> HttpResponse:
    """One card model: every figure with its source, and its offers."""
    viewer: Any = request.user
    found = queries.card_model(viewer, slug)
    return render(request, "catalog/card.html", _card_page(request, found, FigureForm()))


def _card_page(request: HttpRequest, found: Any, form: FigureForm) -> dict[str, Any]:
    viewer: Any = request.user
    day = clock.now().date()
    offers = queries.offers_shown(viewer, day, card=found.slug)
    return {
        "card": found,
        "spec": queries.spec_of(found),
        "groups": presenting.figure_groups(queries.figures_by_name(found)),
        "offers": presenting.offer_table(offers, request.GET, day),
        "form": form,
        "may": can(viewer, "catalog.manage"),
    }


@require_POST
def confirm(request: HttpRequest, slug: str) -> HttpResponse:
    """Put down a figure that the team measured."""
    viewer: Any = request.user
    found = queries.card_model(viewer, slug)
    require(viewer, "catalog.manage")
    form = FigureForm(request.POST)
    if form.is_valid():
        try:
            services.confirm_figure(
                actor=viewer,
                card_model_id=found.pk,
                today=clock.now().date(),
                **form.cleaned_data,
            )
        except Invalid as error:
            form.add_error(error.field, error.reason.render(_))
        else:
            messages.success(request, _("The figure was put down and is used from now on."))
            return redirect("catalog:card", slug)
    return render(request, "catalog/card.html", _card_page(request, found, form), status=400)


@require_GET
def vendors(request: HttpRequest) -> HttpResponse:
    """Vendors side by side, as the sources describe them."""
    viewer: Any = request.user
    found = [vendor for vendor in queries.vendors(viewer) if vendor.statements.all()]
    return render(
        request,
        "catalog/vendors.html",
        {
            "grid": presenting.vendor_grid(found),
            "names": [presenting.vendor_name(vendor) for vendor in found],
        },
    )


@require_GET
def offers(request: HttpRequest) -> HttpResponse:
    """Offers with their prices on a day."""
    viewer: Any = request.user
    form = OfferFilter(request.GET)
    asked = form.cleaned_data if form.is_valid() else {}
    day = asked.get("on") or clock.now().date()
    rows = queries.offers_shown(
        viewer,
        day,
        vendor=getattr(asked.get("vendor"), "slug", ""),
        card=getattr(asked.get("card"), "slug", ""),
    )
    return render(
        request,
        "catalog/offers.html",
        {"table": presenting.offer_table(rows, request.GET, day), "form": form, "day": day},
    )


@require_http_methods(["GET", "POST"])
def import_sheet(request: HttpRequest) -> HttpResponse:
    """Bring a price sheet in: first a dry run with its report, then the import itself."""
    viewer: Any = request.user
    require(viewer, "catalog.manage")
    form = ImportForm(request.POST or None, request.FILES or None)
    report = None
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data
        dry_run = "apply" not in request.POST
        try:
            report = services.import_prices(
                actor=viewer,
                text=asked["text"],
                form=asked["form"],
                vendor=asked["vendor"],
                today=clock.now().date(),
                dry_run=dry_run,
            )
        except Invalid as error:
            form.add_error(error.field, error.reason.render(_))
        else:
            if report.applied:
                messages.success(
                    request,
                    _("%(new)s new, %(changed)s changed, %(same)s unchanged.")
                    % {s: report.count(s) for s in ("new", "changed", "same")},
                )
                return redirect("catalog:offers")
            form = ImportForm(initial={k: asked[k] for k in ("vendor", "form", "text")})
    table = presenting.report_table(report, request.GET) if report else None
    return render(request, "catalog/import.html", {"form": form, "report": report, "table": table})
