"""All routes: pages of each room at the root, its API under /api/v1/."""

from importlib import import_module

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

_rooms = {room: import_module(f"governance.{room}.urls") for room in reversed(settings.ROOMS)}
_api: list[URLPattern | URLResolver] = []
for _room in _rooms.values():
    _api += getattr(_room, "api_urlpatterns", [])

urlpatterns = [
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include((_api, "api"))),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerView.as_view(url_name="schema"), name="api-docs"),
    *(path("", include((room.urlpatterns, name))) for name, room in _rooms.items()),
]
handler400 = "governance.plumbing.http.bad_request"
handler403 = "governance.plumbing.http.forbidden"
handler404 = "governance.plumbing.http.not_found"
handler500 = "governance.plumbing.http.server_error"
