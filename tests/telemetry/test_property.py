"""However pages arrive, minutes, hours and days are the same to the last byte."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import connection
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from governance.accounts.queries import organisation
from governance.kernel.policy import SYSTEM
from governance.telemetry import services
from governance.telemetry.domain.columns import ROLLED
from governance.telemetry.models import Card
from tests.telemetry.pages import BASE, NOW, page, reckon, row

AGENTS = {"north": ("agent-a", "e1"), "south": ("agent-b", "e7")}
_share = st.one_of(
    st.just(0.0), st.just(1.0), st.sampled_from([0.05, 0.15, 0.3, 0.35]), st.floats(0, 1, width=32)
)


@st.composite
def _row(draw: st.DrawFn) -> dict[str, Any]:
    samples = draw(st.integers(1, 60))
    active = draw(st.one_of(st.none(), st.integers(0, samples)))
    known = draw(st.booleans())
    return row(
        card=draw(st.integers(0, 1)),
        minute=BASE + draw(st.sampled_from([0, 1, 2, 59, 60, 61, 1439, 1440, 1441])),
        samples=samples,
        active_samples=active,
        source=draw(st.sampled_from(["nvml_gpm", "dcgm_1005"])),
        fidelity="dram_bw" if known else "unknown",
        bandwidth_mean=draw(_share) if known else None,
        bandwidth_active_mean=draw(_share) if known and active else None,
        bandwidth_max=draw(_share) if known else None,
        gpu_duty_mean=draw(st.one_of(st.none(), _share)),
        power_w_mean=draw(st.one_of(st.none(), st.floats(0, 700, width=32))),
    )


_rows = st.lists(
    st.tuples(st.sampled_from(sorted(AGENTS)), _row()),
    min_size=1,
    max_size=14,
)


def _table(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def dump() -> dict[str, list[tuple[Any, ...]]]:
    """Minutes, hours and days, cards by UUID and streams by name instead of by id."""
    return {
        "minutes": _table(
            "SELECT c.uuid, s.agent, s.epoch, to_jsonb(m) - 'card_id' - 'stream_id'"
            " FROM telemetry_minutesample m JOIN telemetry_card c ON c.id = m.card_id"
            " JOIN telemetry_stream s ON s.id = m.stream_id ORDER BY 1, m.minute"
        ),
        "hours": _table(
            "SELECT c.uuid, to_jsonb(u) - 'card_id' FROM telemetry_usagehour u"
            " JOIN telemetry_card c ON c.id = u.card_id ORDER BY 1, u.hour, u.source"
        ),
        "days": _table(
            "SELECT c.uuid, to_jsonb(u) - 'card_id' FROM telemetry_usageday u"
            " JOIN telemetry_card c ON c.id = u.card_id ORDER BY 1, u.day, u.source"
        ),
    }


def _parsed(found: tuple[Any, ...]) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(found[0])
    return parsed


def _rank(agent: str, one: dict[str, Any]) -> tuple[Any, ...]:
    source = {"nvml_gpm": 6, "dcgm_1005": 5}[one["source"]]
    return (one["samples"], source, *AGENTS[agent], one["seq"])


class Arrival(TestCase):
    """Each example runs in a transaction of its own."""

    def _deliver(
        self, pages: Sequence[tuple[str, Sequence[dict[str, Any]]]], *, roll_between: bool
    ) -> dict[str, list[tuple[Any, ...]]]:
        nodes = {
            name: services.enrol_node(actor=SYSTEM, name=name, mode="push", now=NOW).node_id
            for name in AGENTS
        }
        for name, rows in pages:
            agent, epoch = AGENTS[name]
            services.ingest_page(
                node_id=nodes[name], page=page(rows, agent=agent, epoch=epoch), now=NOW
            )
            if roll_between:
                services.roll_up(now=NOW + timedelta(days=2))
        services.roll_up(now=NOW + timedelta(days=2))
        return dump()

    @given(rows=_rows, seed=st.integers(0, 2**32))
    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    def test_order_splits_repeats_and_clashes_change_nothing(
        self, rows: list[tuple[str, dict[str, Any]]], seed: int
    ) -> None:
        organisation()
        numbered = [(agent, {"seq": place, **one}) for place, (agent, one) in enumerate(rows)]
        chance = random.Random(seed)
        with _rolled_back():
            plain = self._deliver([(agent, [one]) for agent, one in numbered], roll_between=False)
        shuffled = numbered + chance.choices(numbered, k=len(numbered) // 2)
        chance.shuffle(shuffled)
        pages: list[tuple[str, list[dict[str, Any]]]] = []
        for agent, one in shuffled:
            if pages and pages[-1][0] == agent and chance.random() < 0.5:
                pages[-1][1].append(one)
            else:
                pages.append((agent, [one]))
        assert self._deliver(pages, roll_between=True) == plain
        self._is_as_reckoned(numbered)

    def _is_as_reckoned(self, numbered: Sequence[tuple[str, dict[str, Any]]]) -> None:
        best: dict[tuple[int, int], tuple[str, dict[str, Any]]] = {}
        for agent, one in numbered:
            place = (one["card"], one["minute"])
            if place not in best or _rank(agent, one) > _rank(*best[place]):
                best[place] = (agent, one)
        cards = {card.uuid: card.pk for card in Card.objects.all()}
        wanted = reckon(one for _, one in best.values())
        found = _table("SELECT to_jsonb(u) FROM telemetry_usagehour u")
        by_key = {(u["card_id"], u["hour"], u["source"]): u for u in map(_parsed, found)}
        assert set(by_key) == {(cards[f"GPU-{c}"], h, s) for c, h, s in wanted}
        for (card, hour, source), sums in wanted.items():
            hour_row = by_key[cards[f"GPU-{card}"], hour, source]
            for name in ("minutes", "samples", "active_samples", "active_ms", "bandwidth_samples"):
                assert hour_row[name] == sums.get(name, 0), name
            for name in ("bandwidth_total", "bandwidth_active_total", "bandwidth_minutes"):
                assert hour_row[name] == sums.get(name, 0), name
            for rolled in ROLLED:
                for name in (rolled.total, rolled.weight, rolled.active_total):
                    assert (hour_row[name] or 0) == sums.get(name, 0), name
            assert hour_row["histogram"] == sums["histogram"]
            assert hour_row["bandwidth_max"] == sums["bandwidth_max"]
            peak = sums["peak_at"]
            assert hour_row["bandwidth_peak_at"] == peak


class _rolled_back:
    """Undoes what was stored within."""

    def __enter__(self) -> None:
        from django.db import transaction

        self.atomic = transaction.atomic()
        self.atomic.__enter__()

    def __exit__(self, *error: object) -> None:
        from django.db import transaction

        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)
