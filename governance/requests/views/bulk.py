"""Many requests at once: export, import, forecast of capacity."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from governance.kernel.errors import Invalid
from governance.plumbing import clock
from governance.plumbing.csvs import csv_answer
from governance.requests import queries, services
from governance.requests.domain import bulk as rows_of_file
from governance.requests.forms import FileForm, FilterForm
from governance.requests.tables import EXPORTED, export_heads, export_row
from governance.requests.views.asking import projects_for


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """The list as one sees it, all pages, streamed."""
    form = FilterForm(request.GET)
    filters = form.cleaned_data if form.is_valid() else {}
    rows = queries.filtered(request.user, filters).order_by("-pk")
    found = rows.values_list(*EXPORTED).iterator(chunk_size=1_000)
    return csv_answer("requests", export_heads(), (export_row(row) for row in found))


@require_http_methods(["GET", "POST"])
def upload(request: HttpRequest) -> HttpResponse:
    """A CSV file of requests: all rows or none."""
    form = FileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            rows = rows_of_file.read_rows(form.cleaned_data["file"].read())
            made = services.import_requests(
                actor=request.user,
                rows=rows,
                submit_them=form.cleaned_data["submit"],
                now=clock.now(),
            )
        except Invalid as error:
            form.add_error("file", error.reason.render(_))
        else:
            count = len(made)
            words = ngettext("%(count)s request made.", "%(count)s requests made.", count)
            messages.success(request, words % {"count": count})
            return redirect(reverse("requests:list") + "?requester=me")
    context = {
        "form": form,
        "columns": rows_of_file.COLUMNS,
        "projects": projects_for(request),
    }
    return render(request, "requests/import.html", context, status=400 if form.errors else 200)


@require_GET
def forecast(request: HttpRequest) -> HttpResponse:
    """Cards that approved requests will hold in the next six months."""
    now = clock.now()
    return render(
        request, "requests/forecast.html", {"rows": queries.capacity(request.user, now), "now": now}
    )
