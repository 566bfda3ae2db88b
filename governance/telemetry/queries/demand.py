"""How many cards of a model worked at once, hour by hour."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from governance.kernel.periods import Period
from governance.kernel.policy import Actor


@dataclass(frozen=True)
class Demand:
    """`cards[i]` worked in the i-th hour of the period; `known_hours` is how many hours have any
    reading (an hour without one counts as no demand and lowers the coverage)."""

    cards: list[int]
    known_hours: int

    @property
    def coverage(self) -> float | None:
        return self.known_hours / len(self.cards) if self.cards else None


_SQL = """
SELECT u.hour, count(DISTINCT u.card_id) FILTER (WHERE u.active_samples > 0)
FROM telemetry_usagehour u JOIN telemetry_card c ON c.id = u.card_id
LEFT JOIN telemetry_cardholding h ON h.id = u.holding_id
LEFT JOIN accounts_project p ON p.id = h.project_id
WHERE u.hour >= %s AND u.hour < %s AND c.model_slug = %s AND (%s OR p.team_id = ANY(%s))
GROUP BY u.hour
"""


def demand(viewer: Actor, *, card_model: str, period: Period) -> Demand:
    """Cards of the model with any active sample in each whole hour of the period."""
    first, last = int(period.start.timestamp()) // 3600, int(period.end.timestamp()) // 3600
    teams = [team for team in getattr(viewer, "team_abilities", {}) if team]
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [first, last, card_model, "see.all" in viewer.abilities(), teams])
        found = dict(cursor.fetchall())
    return Demand([found.get(hour, 0) for hour in range(first, last)], len(found))
