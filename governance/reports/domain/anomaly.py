"""Cost that is out of line: per project before anything is summed, the unfinished day left out.

Rules as published for a cost centre of a public cloud (facts about it, 2026): by use, the actual
is above the forecast's upper bound and the difference above a floor; by subscription, the month
so far has grown by more than 20 % against the same days of the month before."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from governance.reports.domain.registry import quotient

Severity = Literal["minor", "major", "critical"]
GROWTH = Decimal("0.20")
MAJOR, CRITICAL = Decimal("0.20"), Decimal("0.50")


@dataclass(frozen=True, slots=True)
class Anomaly:
    """How far above, in money and as a share of what was expected."""

    impact: Decimal
    share: Decimal
    severity: Severity


def severity(share: Decimal) -> Severity:
    """Minor under 20 %, major from 20 %, critical from 50 %."""
    if share >= CRITICAL:
        return "critical"
    return "major" if share >= MAJOR else "minor"


def by_use(actual: Decimal, highest: Decimal, floor: Decimal) -> Anomaly | None:
    """Cost by use against the upper bound of its forecast; `floor` in the same currency."""
    return _above(actual, highest, floor, Decimal(0))


def by_subscription(
    month_to_date: Decimal, same_days_before: Decimal, floor: Decimal
) -> Anomaly | None:
    """Fees of the month so far against the same days of the month before."""
    return _above(month_to_date, same_days_before, floor, GROWTH)


def _above(actual: Decimal, expected: Decimal, floor: Decimal, least: Decimal) -> Anomaly | None:
    impact = actual - expected
    share = quotient(impact, expected)
    if impact <= floor or share is None or share <= least:
        return None
    return Anomaly(impact=impact, share=share, severity=severity(share))
