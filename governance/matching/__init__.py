"""Which cards for which job, and what their telemetry says: plain rules, no Django.

`match` ranks offers, `diagnose` and `what_if` judge what was rented, `to_json`/`from_json` carry
every record to storage and back."""

from .codec import from_json, to_json
from .engine import match
from .shapes import ENGINE_VERSION, MatchResult, Package, Plan, RequestSpec

__all__ = [
    "ENGINE_VERSION",
    "MatchResult",
    "Package",
    "Plan",
    "RequestSpec",
    "from_json",
    "match",
    "to_json",
]
