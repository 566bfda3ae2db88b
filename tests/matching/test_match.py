"""Ranking: fits, deadlines, costs; what must hold for any offers."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.catalog.domain import (
    CardSpec,
    IdleCards,
    OfferView,
    RoundTrip,
    TermPrice,
    load_cards,
)
from governance.kernel.errors import Invalid
from governance.matching import MatchResult, RequestSpec, from_json, match, to_json
from tests.bench.match import REQUESTS, offers

CARDS = load_cards()
SOURCES = {
    "rtx-4090": "3.2",
    "a800-80gb-sxm4": "14.8",
    "h100-80gb-sxm5": "28.6",
    "ascend-910b3": "11.3",
}
LORA = RequestSpec(
    preset="llama-2-70b", method="lora", tokens=1e7, global_batch=16, lora_rank=128, goodput=1.0
)
SMALL = RequestSpec(preset="qwen2.5-1.5b", method="qlora", tokens=1e7, seq_len=1024)


def offer(
    card: str | CardSpec = "a800-80gb-sxm4", price: str = "14.8", **changes: object
) -> OfferView:
    spec = CARDS[card] if isinstance(card, str) else card
    found = OfferView(
        id=str(changes.pop("id", spec.slug)),
        vendor="v",
        region="cn",
        card=spec,
        network_bytes_per_s=100e9,
        prices=(TermPrice("hourly", Decimal(price), "CNY"),),
    )
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


def four(**changes: object) -> list[OfferView]:
    return [offer(slug, price, **changes) for slug, price in SOURCES.items()]


def test_the_sources_four_cards_in_their_order() -> None:
    """70B LoRA on eight cards: H100 18, A800 43, 910B 57 minutes; the 4090 needs 4-bit weights."""
    fixed = four(min_units=8, max_cards=8)
    exact = match(LORA, fixed)
    by_card = {p.card: p for p in exact.packages}
    hours = [by_card[slug].hours for slug in ("h100-80gb-sxm5", "a800-80gb-sxm4", "ascend-910b3")]
    assert hours == sorted(hours)
    assert [r.card for r in exact.rejected] == ["rtx-4090"]
    assert exact.rejected[0].reason.code == "memory"
    packed = match(dataclasses.replace(LORA, method="qlora"), fixed)
    on_4090 = next(p for p in packed.packages if p.card == "rtx-4090")
    assert on_4090.hours > hours[-1]
    for slug, minutes in (
        ("h100-80gb-sxm5", 18),
        ("a800-80gb-sxm4", 43),
        ("ascend-910b3", 57),
    ):
        assert by_card[slug].hours_low * 60 <= minutes <= by_card[slug].hours_high * 60
    assert on_4090.hours_low * 60 <= 112 <= on_4090.hours_high * 60


def test_a800_is_never_first_at_the_sources_prices() -> None:
    for deadline in (None, 0.5, 1.0, 3.0):
        for method in ("lora", "qlora"):
            asked = dataclasses.replace(LORA, method=method, deadline_hours=deadline, max_cards=8)
            assert match(asked, four()).packages[0].card != "a800-80gb-sxm4"


def test_without_deadline_the_4090_is_cheapest_in_4_bit() -> None:
    found = match(dataclasses.replace(LORA, method="qlora", max_cards=8), four())
    assert found.packages[0].card == "rtx-4090"


def test_a_tight_deadline_takes_the_h100() -> None:
    asked = dataclasses.replace(LORA, deadline_hours=0.5, max_cards=8)
    first = match(asked, four()).packages[0]
    assert first.card == "h100-80gb-sxm5"
    assert first.meets_deadline


def test_result_survives_storage() -> None:
    result = match(LORA, four())
    assert from_json(MatchResult, json.loads(json.dumps(to_json(result)))) == result


def test_every_package_fits_and_says_why() -> None:
    result = match(SMALL, offers(200))
    assert result.packages
    for p in result.packages:
        assert p.memory.fits
        assert p.plan.cards == p.count
        assert p.reason.text
        assert str(p.reason)
        assert p.hours_low < p.hours < p.hours_high
        assert p.layers[p.bottleneck] == max(p.layers.values())
        assert p.cost == p.costs[p.best_term]
    assert [p.rank for p in result.packages] == sorted(p.rank for p in result.packages)


def test_pareto_front_has_no_beaten_package() -> None:
    packages = match(SMALL, offers(200)).packages
    front = [p for p in packages if p.pareto]
    assert front
    for p in front:
        assert not any(q.hours <= p.hours and q.cost < p.cost for q in packages)


@given(st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_order_of_offers_changes_nothing(draw: random.Random) -> None:
    everything = offers(60)
    shuffled = everything[:]
    draw.shuffle(shuffled)
    assert match(SMALL, shuffled) == match(SMALL, everything)


SLUGS = sorted(s for s, c in CARDS.items() if c.bandwidth_bytes_per_s)
METHODS = st.sampled_from(["pretrain", "full", "lora", "qlora"])
PRESETS = st.sampled_from(["llama-3.2-1b", "llama-2-7b", "qwen2.5-14b", "llama-3-70b"])


def best(request: RequestSpec, card: CardSpec, count: int) -> float | None:
    found = match(request, [offer(card, min_units=count, max_cards=count)])
    return found.packages[0].hours if found.packages else None


@given(st.sampled_from(SLUGS), METHODS, PRESETS, st.sampled_from([1, 2, 4, 8, 16]), st.floats(1, 3))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_more_bandwidth_is_never_slower(
    slug: str, method: str, preset: str, count: int, factor: float
) -> None:
    asked = RequestSpec(preset=preset, method=method, tokens=1e8)
    card = CARDS[slug]
    assert card.bandwidth_bytes_per_s is not None
    more = dataclasses.replace(card, bandwidth_bytes_per_s=card.bandwidth_bytes_per_s * factor)
    before, after = best(asked, card, count), best(asked, more, count)
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert after <= before * (1 + 1e-9)


@given(st.sampled_from(SLUGS), METHODS, PRESETS, st.sampled_from([1, 2, 4, 8, 16]), st.floats(1, 3))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_more_memory_never_stops_fitting_or_slows(
    slug: str, method: str, preset: str, count: int, factor: float
) -> None:
    asked = RequestSpec(preset=preset, method=method, tokens=1e8)
    card = CARDS[slug]
    more = dataclasses.replace(card, memory_bytes=int(card.memory_bytes * factor))
    before, after = best(asked, card, count), best(asked, more, count)
    if before is not None:
        assert after is not None
        assert after <= before * (1 + 1e-9)


@given(st.floats(1e6, 1e9), st.floats(1e6, 1e9))
@settings(max_examples=20, deadline=None)
def test_cost_by_the_hour_is_additive(one: float, two: float) -> None:
    def cost(tokens: float) -> Decimal:
        asked = dataclasses.replace(SMALL, tokens=tokens)
        return match(asked, [offer(min_units=1, max_cards=1)]).packages[0].cost

    assert abs(cost(one) + cost(two) - cost(one + two)) <= Decimal("0.02")


def test_the_term_is_what_the_duration_makes_cheapest() -> None:
    prices = (
        TermPrice("hourly", Decimal(10), "CNY"),
        TermPrice("monthly", Decimal(3000), "CNY"),
        TermPrice("annual", Decimal(20000), "CNY"),
    )

    def term(tokens: float) -> str:
        asked = dataclasses.replace(SMALL, tokens=tokens, max_cards=1)
        return match(asked, [offer(prices=prices)]).packages[0].best_term

    hour = match(dataclasses.replace(SMALL, tokens=1e8, max_cards=1), [offer()]).packages[0].hours
    assert term(1e8 * 100 / hour) == "hourly"
    assert term(1e8 * 600 / hour) == "monthly"
    assert term(1e8 * 8000 / hour) == "annual"


def test_spot_is_only_taken_where_nothing_else_is_sold() -> None:
    spot = TermPrice("spot", Decimal(1), "CNY")
    both = offer(prices=(spot, TermPrice("hourly", Decimal(3), "CNY")))
    assert match(SMALL, [both]).packages[0].best_term == "hourly"
    only = match(SMALL, [offer(prices=(spot,))]).packages[0]
    assert only.best_term == "spot"
    assert "spot" in {note.code for note in only.notes}


def test_rejected_offers_say_why() -> None:
    unknown = dataclasses.replace(CARDS["rtx-4090"], slug="x", bandwidth_bytes_per_s=None)
    day = date(2026, 12, 1)
    everything = [
        offer("rtx-3090", id="memory"),
        offer("t4", id="card_banned"),
        offer(id="region", region="us"),
        offer(unknown, id="card_unknown"),
        offer(id="no_price", prices=()),
        offer(id="old", prices=(TermPrice("hourly", Decimal(1), "CNY", valid_to=day),)),
        offer(id="no_rate", prices=(TermPrice("hourly", Decimal(1), "USD"),)),
        offer(id="smallest_unit", min_units=9),
    ]
    asked = dataclasses.replace(
        LORA, regions=("cn",), cards_banned=("T4",), max_cards=8, currency="CNY"
    )
    result = match(asked, everything, now=datetime(2026, 12, 1, 12, tzinfo=UTC))
    assert not result.packages
    codes = {r.offer_id: r.reason.code for r in result.rejected}
    assert codes.pop("old") == "no_price"
    assert all(code == name for name, code in codes.items())


def test_exchange_rates_make_currencies_comparable() -> None:
    dollars = offer(id="usd", prices=(TermPrice("hourly", Decimal(1), "USD"),))
    found = match(
        dataclasses.replace(SMALL, currency="CNY"),
        [offer(price="10"), dollars],
        rates={"USD": Decimal(7)},
    )
    assert found.packages[0].offer_id == "usd"
    assert {p.currency for p in found.packages} == {"CNY"}


def test_tax_is_added_where_a_price_is_without() -> None:
    net = offer(
        prices=(TermPrice("hourly", Decimal(10), "CNY", Decimal("0.06"), tax_inclusive=False),)
    )
    one, two = (match(SMALL, [o]).packages[0] for o in (net, offer(price="10.6")))
    assert one.cost == two.cost


START = datetime(2026, 12, 1, tzinfo=UTC)


def idle(count: int = 8, hours: float = 100, **changes: object) -> IdleCards:
    return IdleCards(
        id="idle-1",
        offer=offer(),
        count=count,
        starts_at=START,
        ends_at=START + timedelta(hours=hours),
        holder="Vision",
        **changes,  # type: ignore[arg-type]
    )


def test_own_idle_cards_come_first_and_cost_nothing() -> None:
    first = match(LORA, four(), [idle()]).packages[0]
    assert first.idle_id == "idle-1"
    assert first.cost == 0
    assert "Vision" in " ".join(str(note) for note in first.notes)


def test_own_cards_that_are_free_too_short_are_rejected() -> None:
    result = match(LORA, four(), [idle(hours=0.1)])
    assert result.packages[0].idle_id is None
    assert "window_short" in {r.reason.code for r in result.rejected}


def test_displaced_use_has_its_price() -> None:
    first = match(LORA, four(), [idle(displaced_per_hour=Decimal(5))]).packages[0]
    assert first.idle_id == "idle-1"
    assert first.cost > 0


SERVE = RequestSpec(
    preset="llama-3-8b", method="serving", concurrency=100, stream_tokens_per_s=20, max_cards=16
)


def test_serving_counts_egress_and_rejects_a_thin_line() -> None:
    asked = dataclasses.replace(SERVE, response_kb=20, concurrency=500)
    wide, thin = offer(egress_mbit=200), offer(egress_mbit=100, max_cards=8)
    package = match(asked, [wide]).packages[0]
    assert package.egress is not None
    assert package.egress.mbit_per_s == pytest.approx(120)
    assert package.layers["egress"] == pytest.approx(0.6)
    assert "egress_estimate" in {note.code for note in package.notes}
    assert match(asked, [thin]).rejected[0].reason.code == "egress"


def test_streams() -> None:
    asked = dataclasses.replace(SERVE, concurrency=500, stream_tokens_per_s=30)
    egress = match(asked, [offer()]).packages[0].egress
    assert egress is not None
    assert egress.mbit_per_s == pytest.approx(36)


def test_first_token_includes_the_round_trip() -> None:
    near = offer(round_trips=(RoundTrip("eu", 10.0),))
    far = offer(round_trips=(RoundTrip("eu", 210.0),))
    asked = dataclasses.replace(SERVE, users_region="eu")
    one, two = (match(asked, [o]).packages[0].ttft_ms for o in (near, far))
    assert one is not None
    assert two is not None
    assert two - one == pytest.approx(200)
    limited = dataclasses.replace(asked, ttft_ms=one + 50)
    assert match(limited, [far]).rejected[0].reason.code == "ttft_slow"


def test_filing_delays_a_service() -> None:
    slow = offer(filing_required=True, filing_days=20)
    asked = dataclasses.replace(SERVE, deadline_hours=24 * 10)
    package = match(asked, [slow]).packages[0]
    assert not package.meets_deadline
    assert match(dataclasses.replace(asked, filing_done=True), [slow]).packages[0].meets_deadline


def test_a_slow_store_is_the_bottleneck() -> None:
    slow = offer(storage_read_bytes_per_s=1e4, storage_shared=False)
    package = match(SMALL, [slow]).packages[0]
    assert package.bottleneck == "storage"
    assert package.hours > match(SMALL, [offer()]).packages[0].hours


def test_data_elsewhere_takes_time_and_money() -> None:
    asked = dataclasses.replace(SMALL, data_gb=1000, data_region="us")
    away = offer(ingress_mbit=1000, overage_per_gb=Decimal("0.5"), traffic_cap_gb=200)
    package = match(asked, [away]).packages[0]
    assert package.setup_hours == pytest.approx(8000 / 3600, rel=0.01)
    assert package.setup_cost == Decimal("400.00")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"method": "guess"}, "method"),
        ({"preset": "gpt-9"}, "preset"),
        ({"preset": None}, "params_b"),
        ({"tokens": None}, "tokens"),
        ({"tokens": -1.0}, "tokens"),
        ({"seq_len": 0}, "seq_len"),
        ({"precision": "fp2"}, "precision"),
        ({"cards_banned": ("Voodoo 2",)}, "cards_banned"),
        ({"goodput": 0.5}, "goodput"),
        ({"preset": None, "params_b": 0.001, "vocab": 10**6, "hidden": 1000}, "params_b"),
    ],
)
def test_bad_requests_name_the_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        match(dataclasses.replace(SMALL, **change), [offer()])  # type: ignore[arg-type]
    assert refused.value.field == field


def test_experts_and_unknown_sizes_are_derived() -> None:
    moe = RequestSpec(preset="qwen3-30b-a3b", method="lora", tokens=1e8)
    dense = RequestSpec(preset="qwen2.5-32b", method="lora", tokens=1e8)
    one, two = (match(r, [offer(min_units=8)]).packages[0] for r in (moe, dense))
    assert one.hours < two.hours
    assert match(RequestSpec(params_b=13, method="lora", tokens=1e8), [offer()]).packages


def test_a_thousand_offers_while_one_types() -> None:
    everything = offers()
    for name, request in REQUESTS.items():
        best_of = []
        for _ in range(3):
            start = time.process_time()
            match(request, everything)
            best_of.append(time.process_time() - start)
        assert min(best_of) < 0.6, name
