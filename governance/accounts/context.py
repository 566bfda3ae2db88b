"""What every page's frame knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def frame(request: HttpRequest) -> dict[str, Any]:
    """Theme, demo mark and the abilities that decide the navigation."""
    user = getattr(request, "user", None)
    theme = request.COOKIES.get("theme", "")
    return {
        "theme": theme if theme in {"light", "dark"} else "",
        "demo": settings.DEMO,
        "abilities": user.abilities() if user and user.is_authenticated else frozenset(),
    }
