"""Home, search, help, and the reader's choices of language and theme."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST, require_safe

from governance.kernel.errors import Invalid
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.portal import glossary, health, homes, metrics
from governance.portal import search as search_rooms

YEAR = 365 * 24 * 3600
THEMES = ("light", "dark", "system")


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    home = homes.home_for(request.user, request.GET, clock.now())
    return render(request, "portal/home.html", {"home": home})


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:100]
    groups = search_rooms.find(request.user, words)
    return render(request, "portal/search.html", {"search_words": words, "groups": groups})


@require_GET
def help_page(request: HttpRequest) -> HttpResponse:
    return render(request, "portal/help.html", {"figures": glossary.figures(request.GET)})


def back(request: HttpRequest) -> HttpResponse:
    """To the page the choice was made on, if it is one of ours."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure())
    return redirect(target if safe else "/")


def remember(response: HttpResponse, name: str, value: str) -> None:
    response.set_cookie(
        name, value, max_age=YEAR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
    )


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Chosen language: a cookie, so that it holds before signing in as well."""
    chosen = request.POST.get("language", "")
    if chosen not in dict(settings.LANGUAGES):
        raise Invalid(Reason("language", N_("There is no such language.")), "language")
    response = back(request)
    remember(response, settings.LANGUAGE_COOKIE_NAME, chosen)
    return response


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Chosen theme, or the system's: a cookie that the server renders from, so nothing flashes."""
    chosen = request.POST.get("theme", "")
    if chosen not in THEMES:
        raise Invalid(Reason("theme", N_("There is no such theme.")), "theme")
    response = back(request)
    if chosen == "system":
        response.delete_cookie("theme", samesite="Lax")
    else:
        remember(response, "theme", chosen)
    return response


@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is asked."""
    return HttpResponse("ok", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when every part is ready, otherwise 503; either way each part's line."""
    parts = health.ask_all()
    ready = all(part.ready for part in parts)
    body = {
        "ready": ready,
        "parts": {p.name: {"ready": p.ready, "detail": p.detail} for p in parts},
    }
    return JsonResponse(body, status=200 if ready else 503)


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(metrics.page(), content_type="text/plain; version=0.0.4; charset=utf-8")
