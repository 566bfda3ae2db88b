"""Routes of the portal and of the API's own description."""

from __future__ import annotations

from tests.matrix.shapes import Route

ROUTES = [
    Route("portal:home"),
    Route("portal:search"),
    Route("portal:help"),
    Route("portal:language", "POST", open=True),
    Route("portal:theme", "POST", open=True),
    Route("portal:livez", open=True),
    Route("portal:readyz", open=True, note="200, or 503 with what is not ready"),
    Route("portal:metrics", open=True),
    Route("schema", open=True),
    Route("api-docs", open=True),
]
