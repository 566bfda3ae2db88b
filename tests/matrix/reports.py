"""Routes of reports."""

from __future__ import annotations

from tests.matrix.shapes import Route

ROUTES = [
    Route("reports:index"),
    Route("reports:key_figures"),
    Route("reports:report", args=lambda w: ["utilization"]),
    Route("reports:export", args=lambda w: ["utilization", "csv"]),
    Route("reports:prices"),
    Route("reports:flags"),
    Route("api:reports"),
    Route("api:report", args=lambda w: ["utilization"]),
]
