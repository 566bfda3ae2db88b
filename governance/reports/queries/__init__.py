"""Reads of the reports room; importing this fills the registry of reports."""

from governance.reports.queries import (  # noqa: F401
    approving,
    budget,
    cost,
    judged,
    prices,
    utilization,
    vendors,
    work,
)
from governance.reports.queries.base import (
    GROUP_NAMES,
    REPORTS,
    Params,
    Report,
    find,
    read_params,
    run,
)
from governance.reports.queries.judged import saved_views

__all__ = [
    "GROUP_NAMES",
    "REPORTS",
    "Params",
    "Report",
    "find",
    "read_params",
    "run",
    "saved_views",
]
