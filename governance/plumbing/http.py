"""How refusals reach people: a page with the reason, or JSON {code, detail, field}."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response
from rest_framework.views import exception_handler

from governance.kernel.errors import Busy, DomainError, Invalid
from governance.kernel.reasons import N_, Reason

_PAGES = {400: "400", 403: "403", 404: "404", 409: "409"}


class Pages(PageNumberPagination):
    """25 rows a page, up to 200 by ?page_size=."""

    page_size = 25
    page_size_query_param = "page_size"
    max_page_size = 200


def error_body(error: DomainError) -> dict[str, Any]:
    """The JSON body of a domain error, in the reader's language."""
    body = {"code": error.reason.code, "detail": error.reason.render(gettext)}
    if isinstance(error, Invalid) and error.field:
        body["field"] = error.field
    return body


def api_errors(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler, with domain errors added."""
    if isinstance(error, DomainError):
        headers = {"Retry-After": str(error.retry_after)} if isinstance(error, Busy) else None
        return Response(error_body(error), status=error.status, headers=headers)
    return exception_handler(error, context)


_NUL = Reason("nul", N_("The address or form holds a NUL sign, which no text may have."))


class DomainErrorMiddleware:
    """Turns a domain error of a page into an answer with the error's status and reason.

    A NUL sign in an address or form, which PostgreSQL cannot store, is refused here for all.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _has_nul(request):
            return self.get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse(error_body(Invalid(_NUL)), status=400)
        return _page(request, 400, _NUL.render(gettext))

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, DomainError):
            return None
        response = _page(request, error.status, error.reason.render(gettext))
        if isinstance(error, Busy):
            response["Retry-After"] = str(error.retry_after)
        return response


def _has_nul(request: HttpRequest) -> bool:
    if "%00" in request.META.get("QUERY_STRING", "") or "\0" in request.path:
        return True
    if request.path.startswith("/api/"):
        return False
    return any("\0" in value for _name, values in request.POST.lists() for value in values)


def _page(request: HttpRequest, status: int, reason: str = "") -> HttpResponse:
    template = f"ui/errors/{_PAGES.get(status, '400')}.html"
    return render(request, template, {"reason": reason, "status": status}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 403)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose token is missing or old: a page that says how to go on."""
    return _page(
        request,
        403,
        gettext("This form is too old or from elsewhere. Nothing was changed; load it again."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Without context processors: the database may be what failed."""
    try:
        return render(None, "ui/errors/500.html", status=500)
    except (ImproperlyConfigured, OSError):
        return HttpResponse(gettext("Something failed on our side."), status=500)
