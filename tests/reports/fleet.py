"""A small measured fleet for tests: readings by the page, cards in the calendar by the rental."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from governance.accounts.models import Project
from governance.kernel.policy import SYSTEM
from governance.rentals.models import Rental
from governance.telemetry import services
from governance.telemetry.domain.page import parse_page
from governance.telemetry.models import Card
from tests.rentals.make import rental as make_rental

_count = itertools.count(1)
A800 = "NVIDIA A800-SXM4-80GB"


def measure(
    uuids: Sequence[str],
    start: datetime,
    minutes: int,
    *,
    model: str = A800,
    every: int = 1,
    **figures: Any,
) -> list[int]:
    """Store readings of new or known cards for so many minutes and roll them up; card ids."""
    number = next(_count)
    node = services.enrol_node(actor=SYSTEM, name=f"node-{number}", mode="push", now=start).node_id
    first = int(start.timestamp()) // 60
    values = {
        "source": "nvml_gpm",
        "samples": 60,
        "active_samples": 60,
        "bandwidth_mean": 0.2,
        "bandwidth_active_mean": 0.2,
        "bandwidth_max": 0.4,
        "sm_mean": 0.2,
        "tensor_mean": 0.05,
        "gpu_duty_mean": 0.9,
        "memory_used_bytes_max": 11 * 2**30,
        "memory_total_bytes": 80 * 2**30,
        "power_w_mean": 200.0,
        **figures,
    }
    places = [(c, m) for c in range(len(uuids)) for m in range(0, minutes, every)]
    end = start + timedelta(minutes=minutes)
    document = {
        "format": 1,
        "agent": f"agent-{number}",
        "epoch": "e",
        "first": 1,
        "next": f"e:{len(places)}",
        "more": False,
        "now": end.isoformat(),
        "node": "host",
        "cards": [
            {"vendor": "nvidia", "uuid": uuid, "parent": None, "model": model, "index": place}
            for place, uuid in enumerate(uuids)
        ],
        "columns": {
            "seq": list(range(1, len(places) + 1)),
            "card": [c for c, _ in places],
            "minute": [(first + m) * 60 for _, m in places],
            **{name: [value] * len(places) for name, value in values.items()},
        },
        "gaps": [],
    }
    page = parse_page(orjson.dumps(document), now_minute=first + minutes, max_rows=1_000_000)
    services.ingest_page(node_id=node, page=page, now=end)
    services.roll_up(now=end + timedelta(days=1))
    return [Card.objects.get(vendor="nvidia", uuid=uuid).pk for uuid in uuids]


def rented(
    project: Project,
    start: datetime,
    minutes: int,
    *,
    cards: int = 1,
    kind: str = "hourly",
    price: str = "14.80",
    vendor: str = "CloudA",
    card_model: str = "a800-80gb-sxm4",
    rental: dict[str, Any] | None = None,
    **figures: Any,
) -> Rental:
    """A rental whose cards report over its first minutes."""
    uuids = [f"GPU-{next(_count)}" for _ in range(cards)]
    ids = measure(uuids, start, minutes, **figures)
    made = make_rental(
        project,
        kind,
        price,
        start=start,
        cards=cards,
        quantity=cards,
        vendor=vendor,
        card_model=card_model,
        card_ids=tuple(ids),
        **(rental or {}),
    )
    services.roll_up(now=start + timedelta(minutes=minutes, days=2))
    return made
