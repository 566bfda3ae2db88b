"""Which cards for which job, and what their telemetry says: plain rules, no Django.

`match` ranks offers, `diagnose` and `what_if` judge what was rented, `to_json`/`from_json` carry
every record to storage and back."""

from .codec import from_json, to_json
from .diagnosis import Attribution, compare, diagnose
from .engine import match
from .shapes import ENGINE_VERSION, MatchResult, Package, Plan, RequestSpec
from .what_if import WhatIf, what_if
from .windows import Thresholds, UsageWindow, Verdict

__all__ = [
    "ENGINE_VERSION",
    "Attribution",
    "MatchResult",
    "Package",
    "Plan",
    "RequestSpec",
    "Thresholds",
    "UsageWindow",
    "Verdict",
    "WhatIf",
    "compare",
    "diagnose",
    "from_json",
    "match",
    "to_json",
    "what_if",
]
