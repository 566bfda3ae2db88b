"""Files for finance: FOCUS, the journal, beancount, the month's statement; one page lists them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from datetime import date

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from governance.kernel.periods import add_months
from governance.kernel.policy import can, require
from governance.plumbing import clock
from governance.rentals import queries as rentals
from governance.reports import statement
from governance.reports.domain import focus
from governance.reports.domain.journal import beancount_lines, journal_lines
from governance.reports.queries.exports import ledger_entries
from governance.reports.queries.focus import FocusMonth, month_named, version_named
from governance.reports.viewers import viewer_of


@require_GET
def exports(request: HttpRequest) -> HttpResponse:
    """The last twelve months and what can be taken out of each."""
    today = clock.now().date().replace(day=1)
    months = [add_months(today, -i) for i in range(12)]
    context = {
        "months": [(m, f"{m:%Y-%m}", rentals.is_closed(m)) for m in months],
        "may": can(viewer_of(request), "exports.run"),
    }
    return render(request, "reports/exports.html", context)


class _Lines:
    """Takes what a writer writes and gives it on."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return len(text)

    def taken(self) -> str:
        text = "".join(self.parts)
        self.parts.clear()
        return text


def _streamed(lines: Iterator[str], name: str, kind: str) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(lines, content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@require_GET
def focus_file(request: HttpRequest, month: str, version: str) -> HttpResponse:
    """1.2: one CSV; 1.4: its four files as an archive."""
    viewer = viewer_of(request)
    require(viewer, "exports.run")
    chosen = version_named(version)
    found = FocusMonth(viewer, month_named(month), clock.now())
    files: dict[str, Callable[[_Lines], int]] = {
        "cost_and_usage.csv": lambda out: focus.write(found.rows(), chosen, out)
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, write in files.items():
            out = _Lines()
            write(out)
            archive.writestr(name, out.taken())
        if chosen == "1.4":
            for dataset in found.datasets():
                out = _Lines()
                dataset.write(out)
                archive.writestr(dataset.file, out.taken())
    answer = HttpResponse(buffer.getvalue(), content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="focus-{chosen}-{month}.zip"'
    return answer


@require_GET
def journal(request: HttpRequest, month: str) -> StreamingHttpResponse:
    """The month's postings as CSV."""
    entries = ledger_entries(viewer_of(request), month_named(month))
    return _streamed(journal_lines(entries), f"journal-{month}.csv", "text/csv")


@require_GET
def beancount(request: HttpRequest, month: str) -> StreamingHttpResponse:
    """The month's postings as beancount text."""
    entries = ledger_entries(viewer_of(request), month_named(month))
    return _streamed(beancount_lines(entries), f"ledger-{month}.beancount", "text/plain")


@require_GET
def month_statement(request: HttpRequest, month: str) -> HttpResponse:
    """The month's statement as PDF, in the reader's language."""
    viewer = viewer_of(request)
    require(viewer, "exports.run")
    first: date = month_named(month)
    pdf = statement.month_pdf(viewer, first, clock.now(), _, (get_language() or "en")[:2])
    answer = HttpResponse(pdf, content_type="application/pdf")
    answer["Content-Disposition"] = f'inline; filename="statement-{month}.pdf"'
    return answer
