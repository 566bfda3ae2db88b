"""Health for machines: /livez does no I/O, /readyz asks every part."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from governance.plumbing import health


@require_safe
@never_cache
def livez(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("alive\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when every part is well, else 503; the parts with what is wrong."""
    faults = health.faults()
    parts = {name: {"ok": not fault, "detail": fault} for name, fault in faults.items()}
    ready = not any(faults.values())
    return JsonResponse({"ready": ready, "parts": parts}, status=200 if ready else 503)
