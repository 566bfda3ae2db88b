"""One request against 1,000 offers of many cards, networks and prices, counts 1 to 64."""

from __future__ import annotations

import random
import time
from decimal import Decimal

from governance.catalog.domain import OfferView, TermPrice, load_cards
from governance.matching import RequestSpec, match

NETWORKS = (None, 12.5e9, 25e9, 50e9, 100e9, 200e9, 400e9)
REQUESTS = {
    "lora_70b": RequestSpec(preset="llama-2-70b", method="lora", tokens=1e8, deadline_hours=72),
    "qlora_7b": RequestSpec(preset="llama-2-7b", method="qlora", tokens=1e7, deadline_hours=24),
    "full_8b": RequestSpec(preset="llama-3-8b", method="full", tokens=1e8),
    "pretrain_32b": RequestSpec(
        preset="qwen2.5-32b", method="pretrain", tokens=1e10, deadline_hours=500
    ),
    "serving_8b": RequestSpec(
        preset="llama-3-8b", method="serving", concurrency=300, stream_tokens_per_s=20
    ),
}


def offers(count: int = 1000) -> list[OfferView]:
    """The same offers every time."""
    draw = random.Random(1)
    cards = sorted((c for c in load_cards().values() if c.bandwidth_bytes_per_s), key=str)
    found = []
    for number in range(count):
        unit = draw.choice([1, 1, 2, 4, 8])
        hour, month = draw.uniform(1, 40) * unit, draw.uniform(500, 15000) * unit
        found.append(
            OfferView(
                id=f"offer-{number}",
                vendor=f"vendor-{number % 7}",
                region=f"region-{number % 5}",
                card=draw.choice(cards),
                cards_per_unit=unit,
                network_bytes_per_s=draw.choice(NETWORKS),
                prices=(
                    TermPrice("hourly", Decimal(f"{hour:.2f}"), "CNY"),
                    TermPrice("monthly", Decimal(f"{month:.2f}"), "CNY"),
                ),
            )
        )
    return found


def run() -> tuple[dict[str, float], dict[str, str]]:
    everything = offers()
    figures = {}
    for name, request in REQUESTS.items():
        taken = []
        for _ in range(5):
            start = time.process_time()
            match(request, everything)
            taken.append(time.process_time() - start)
        figures[name] = 1000 * min(taken)
    return figures, dict.fromkeys(figures, "ms")
