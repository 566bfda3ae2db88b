"""What stands behind a package: how right predictions were, and the plan as a file."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from governance.kernel.errors import Missing
from governance.matching import RequestSpec, from_json
from governance.matching.accuracy import claims, runs, summaries
from governance.matching.constants import table as constants
from governance.matching.downloads import FORMATS
from governance.requests import queries
from governance.requests.accuracy import chart_of, claim_table, constant_table, summary_table
from governance.requests.presenting import stored_package


@require_GET
def accuracy(request: HttpRequest) -> HttpResponse:
    """Predicted against measured, by kind; the constants; the articles' own times."""
    found = runs()
    return render(
        request,
        "requests/accuracy.html",
        {
            "chart": chart_of(found),
            "summary": summary_table(summaries(found), request.GET),
            "claims": claim_table(claims(), request.GET),
            "setup": claims()[0].setup,
            "constants": constant_table(constants(), request.GET),
            "count": len(found),
            "sources": len({run.source.split(" ")[0] for run in found}),
        },
    )


@require_GET
def plan_file(request: HttpRequest, pk: int, tool: str) -> HttpResponse:
    """The chosen package's parallel plan as the tool reads it."""
    viewer: Any = request.user
    row = queries.request_for(viewer, pk)
    package = stored_package(row)
    if package is None or tool not in FORMATS:
        raise Missing()
    name, kind, write = FORMATS[tool]
    answer = HttpResponse(
        write(from_json(RequestSpec, row.spec), package), content_type=f"{kind}; charset=utf-8"
    )
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
