"""Language of the reader; sign-in needed everywhere but for a few open routes."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import translation
from django.utils.http import urlencode

OPEN_PREFIXES = (
    "/accounts/",
    "/static/",
    "/livez",
    "/readyz",
    "/metrics",
    "/api/",
    "/language/",
    "/theme/",
    "/collect/",
)
_Next = Callable[[HttpRequest], HttpResponse]


class LanguageMiddleware:
    """Profile, then cookie, then the browser's header."""

    def __init__(self, get_response: _Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        language = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        if not translation.check_for_language(language):
            language = translation.get_language_from_request(request)
        with translation.override(language):
            request.LANGUAGE_CODE = language  # type: ignore[attr-defined]
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language() or language)
        return response


class SignInMiddleware:
    """Pages are for people who signed in; the API answers 401 by itself."""

    def __init__(self, get_response: _Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated and not request.path.startswith(OPEN_PREFIXES):
            if request.headers.get("HX-Request"):
                answer = HttpResponse(status=401)
                answer["HX-Redirect"] = f"/accounts/login/?{urlencode({'next': request.path})}"
                return answer
            return redirect(f"/accounts/login/?{urlencode({'next': request.get_full_path()})}")
        return self.get_response(request)
