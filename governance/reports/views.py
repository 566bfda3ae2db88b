"""Pages of reports: the list, each report, its exports, and how the key figures are made."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from governance.kernel.errors import Invalid
from governance.plumbing import clock
from governance.reports import mix_page, pages, prices_page, queries, services
from governance.reports.charts import charts_of
from governance.reports.domain.kpis import KPIS
from governance.reports.domain.tables import csv_lines, xlsx
from governance.reports.forms import Filters, SaveView
from governance.reports.queries.judged import open_flags
from governance.reports.queries.prices import compared
from governance.reports.viewers import viewer_of

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every report with the question it answers, and the reader's saved views."""
    context = {
        "reports": list(queries.REPORTS.values()),
        "views": queries.saved_views(viewer_of(request)),
    }
    return render(request, "reports/index.html", context)


@require_GET
def report(request: HttpRequest, name: str) -> HttpResponse:
    """One report: filters in the address, chart with its table, notes, exports."""
    found = queries.find(name)
    form = Filters(found, viewer_of(request), request.GET)
    try:
        result = queries.run(name, viewer_of(request), request.GET.dict(), clock.now())
    except Invalid as wrong:
        form.is_valid()
        place = wrong.field if wrong.field in form.fields else None
        form.add_error(place, wrong.reason.render(_))
        context = {"report": found, "form": form, "result": None}
        return render(request, "reports/report.html", context, status=wrong.status)
    context = {
        "report": found,
        "form": form,
        "result": result,
        "table": pages.table_of(result, request.GET),
        "charts": charts_of(result, pages.word),
        "notes": [note.render(_) for note in result.notes],
        "save": SaveView(),
    }
    return render(request, "reports/report.html", context)


@require_POST
def save_view(request: HttpRequest, name: str) -> HttpResponse:
    """Keep a report as it is asked now under a name."""
    query = request.POST.get("query", "")
    try:
        services.save_view(
            actor=viewer_of(request),
            name=request.POST.get("name", ""),
            report=name,
            query=query,
            rhythm=request.POST.get("rhythm", ""),
        )
    except Invalid as wrong:
        messages.error(request, wrong.reason.render(_))
        return redirect(f"{reverse('reports:report', args=[name])}?{query}")
    messages.success(request, _("Saved; it stands under Reports."))
    return redirect("reports:index")


@require_POST
def forget_view(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete one of one's own saved views."""
    services.forget_view(actor=viewer_of(request), view_id=pk)
    return redirect("reports:index")


@require_GET
def export(request: HttpRequest, name: str, suffix: str) -> HttpResponse | StreamingHttpResponse:
    """What the page shows as a file: same filters, rows and order."""
    now = clock.now()
    result = queries.run(name, viewer_of(request), request.GET.dict(), now)
    result = pages.as_shown(result, request.GET)
    file = f"{name}-{result.first}-{result.last}.{suffix}"
    answer: HttpResponse | StreamingHttpResponse
    if suffix == "csv":
        lines = csv_lines(result, bom=request.GET.get("bom") == "1")
        answer = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    else:
        zone = queries.read_params(queries.find(name), request.GET.dict(), now).zone
        answer = HttpResponse(xlsx(result, zone, _), content_type=XLSX)
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer


@require_GET
def key_figures(request: HttpRequest) -> HttpResponse:
    """The registry of key figures as a page."""
    return render(request, "reports/key_figures.html", {"kpis": list(KPIS.values())})


@require_GET
def prices(request: HttpRequest) -> HttpResponse:
    """Plans side by side for a rental at its real use, and how much of its card to commit to."""
    viewer = viewer_of(request)
    found = queries.find("price-comparison")
    form = Filters(found, viewer, request.GET)
    params = queries.read_params(found, request.GET.dict(), clock.now())
    rentals = compared(viewer, params, banded="rental" in params.filters)
    chosen = rentals[0] if "rental" in params.filters and rentals else None
    shown = chosen if chosen and chosen.comparison else None
    result = queries.run("price-comparison", viewer, request.GET.dict(), params.now)
    pool = [shown] if shown else rentals
    context = {
        "form": form,
        "chosen": chosen,
        "params": params,
        "lines": prices_page.plan_lines(shown) if shown else [],
        "curves": prices_page.curves(shown) if shown else None,
        "steps": prices_page.steps(shown) if shown else None,
        "mix": mix_page.mix_of(viewer, params, pool),
        "flags": open_flags(viewer, chosen.rental.pk) if chosen else [],
        "table": pages.table_of(result, request.GET),
        "notes": [note.render(_) for note in result.notes],
    }
    return render(request, "reports/prices.html", context)
