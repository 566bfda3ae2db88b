"""Gathers what a night knows of every running rental, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from governance.accounts.queries import organisation
from governance.catalog import queries as catalog
from governance.catalog.domain import CardSpec, OfferView, load_cards
from governance.kernel.money import currency_places, round_exact
from governance.kernel.periods import Period, local_midnight, seconds
from governance.matching import UsageWindow, Verdict, WhatIf, diagnose, what_if
from governance.rentals import queries as rentals
from governance.rentals.domain.compare import compare
from governance.rentals.domain.lifecycle import RUNNING
from governance.reports.domain.judgement import Evidence, Settings, capped_saving
from governance.reports.domain.waterfall import PART_OF_ROW, Slice, divide
from governance.reports.queries.base import Params
from governance.reports.queries.prices import KINDS, Use, offer_of, own_price, prices_of, usage_of
from governance.reports.queries.utilization import merge
from governance.reports.viewers import EVERYTHING
from governance.telemetry import queries as telemetry
from governance.telemetry.domain.sources import Source

COST_DAYS = 30
"""A saving a month is never above what the rental cost in these days."""

WINDOW_DAYS = 14
_HOURS = {"hourly": 1, "daily": 24, "monthly": 720, "quarterly": 2160, "annual": 8760}


@dataclass(frozen=True, slots=True)
class Night:
    """A rental as a night sees it."""

    rental: Any
    evidence: Evidence
    verdict: Verdict | None
    alternative: Alternative | None
    source: str
    cost_window: Decimal
    cost_month: Decimal
    parts: Mapping[str, Decimal] = field(default_factory=dict)
    savings: Mapping[str, Decimal | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alternative:
    """The cheaper card that passed the what-if, and where it is offered."""

    what_if: WhatIf
    vendor: str
    card: str
    card_name: str
    price: Decimal
    kind: str


@dataclass(frozen=True, slots=True)
class Known:
    """Everything read once for a night."""

    period: Period
    usage: Mapping[int, list[telemetry.UsageRow]]
    nodes: Mapping[int, int]
    models: Mapping[int, tuple[str, ...]]
    recent: Mapping[int, tuple[float | None, float | None]]
    month_costs: Mapping[int, Decimal]
    window_costs: Mapping[int, Decimal]
    uses: Mapping[int, Use]
    offers: Sequence[OfferView]
    serving: frozenset[int] = frozenset()


def nights(day: date, now: datetime, settings: Settings) -> list[Night]:
    """Every rental that ran on the day, judged on the window that ends with it."""
    zone = ZoneInfo(organisation().timezone)
    end = local_midnight(day + timedelta(days=1), zone)
    period = Period(local_midnight(day - timedelta(days=WINDOW_DAYS - 1), zone), end)
    running = list(
        rentals.rentals_visible_to(EVERYTHING)
        .filter(state__in=RUNNING, starts_at__lt=end)
        .exclude(ends_at__lte=local_midnight(day, zone))
        .prefetch_related("components")
        .order_by("pk")
    )
    if not running:
        return []
    known = _read(day, period, zone, now, settings)
    return [_night(rental, known, settings) for rental in running]


def _read(day: date, period: Period, zone: ZoneInfo, now: datetime, settings: Settings) -> Known:
    asked: dict[str, Any] = {"tz": zone.key, "now": min(now, period.end)}
    pieces: dict[int, dict[Source, list[telemetry.UsageRow]]] = {}
    nodes: dict[int, set[object]] = {}
    models: dict[int, set[str]] = {}
    for row in telemetry.usage(
        EVERYTHING, period=period, group_by=("rental", "node", "card_model"), **asked
    ):
        if row.group["rental"] is None:
            continue
        pk = int(str(row.group["rental"]))
        pieces.setdefault(pk, {}).setdefault(row.source, []).append(row)
        nodes.setdefault(pk, set()).add(row.group["node"])
        models.setdefault(pk, set()).add(str(row.group["card_model"]))
    recent_start = period.end - timedelta(hours=settings.idle_hours)
    recent: dict[int, list[telemetry.UsageRow]] = {}
    for row in telemetry.usage(
        EVERYTHING, period=Period(recent_start, period.end), group_by=("rental",), **asked
    ):
        if row.group["rental"] is not None:
            recent.setdefault(int(str(row.group["rental"])), []).append(row)
    first = day - timedelta(days=WINDOW_DAYS - 1)
    params = Params(first, day, zone.key, now, organisation().currency)
    return Known(
        period=period,
        usage={
            pk: [merge({"rental": pk}, rows) for rows in by_source.values()]
            for pk, by_source in pieces.items()
        },
        nodes={pk: len(found) for pk, found in nodes.items()},
        models={pk: tuple(sorted(found)) for pk, found in models.items()},
        recent={pk: _recently(rows) for pk, rows in recent.items()},
        month_costs=_costs(day - timedelta(days=COST_DAYS - 1), day),
        window_costs=_costs(first, day),
        uses=usage_of(EVERYTHING, params, list(pieces), banded=False),
        offers=catalog.offers_on(day),
    )


def _costs(first: date, last: date) -> dict[int, Decimal]:
    rows = rentals.cost_rows(EVERYTHING, first=first, last=last, group_by=("rental",))
    return {int(row.group[0]): row.amortised for row in rows}


def _recently(rows: list[telemetry.UsageRow]) -> tuple[float | None, float | None]:
    """Active share over known time, and the share of held time that is known."""
    active = [r.figures["active_hours"] for r in rows if r.figures["active_hours"] is not None]
    hours = sum(r.card_hours for r in rows if r.figures["active_hours"] is not None)
    held = max((r.expected_card_hours for r in rows), default=0.0)
    return (
        sum(active) / hours if active and hours else None,
        sum(r.card_hours for r in rows) / held if held else None,
    )


def best_source(rows: list[telemetry.UsageRow]) -> telemetry.UsageRow | None:
    """The source that covers most of the time with a bandwidth figure; sources are not mixed."""
    if not rows:
        return None
    return max(rows, key=lambda r: (r.coverage or 0.0, int(r.fidelity), r.card_hours))


def _night(rental: Any, known: Known, settings: Settings) -> Night:
    rows = known.usage.get(rental.pk, [])
    best = best_source(rows)
    card = load_cards().get(rental.card_model)
    offer = offer_of(rental, known.offers)
    window = window_of(rental, best, card, offer, known.nodes.get(rental.pk, 1))
    verdict = diagnose(window, card) if card is not None else None
    cheaper = None
    if verdict is not None and card is not None and verdict.downgrade != "no":
        cheaper = cheapest(rental, window, card, known.offers)
    month = known.month_costs.get(rental.pk, Decimal(0))
    use = known.uses.get(rental.pk, Use())
    evidence = _evidence(rental, known, best, verdict, cheaper, offer, use)
    paid = known.window_costs.get(rental.pk, Decimal(0))
    return Night(
        rental=rental,
        evidence=evidence,
        verdict=verdict,
        alternative=cheaper,
        source=best.source.name.lower() if best else "unknown",
        cost_window=paid,
        cost_month=month,
        parts=_parts(rental, best, verdict, paid),
        savings=_savings(rental, evidence, cheaper, offer, use, month),
    )


def window_of(
    rental: Any,
    best: telemetry.UsageRow | None,
    card: CardSpec | None,
    offer: OfferView | None,
    nodes: int,
) -> UsageWindow:
    """The diagnosis' window: means over active time, links as shares of what they can carry."""
    if best is None:
        return UsageWindow(coverage=0.0, fidelity="unknown", active_hours=0.0, cards=rental.cards)
    seen, sums = best.figures, best.usage.sums
    pcie = seen["pcie_active_mean"]
    link = None
    if card is not None and card.link_bytes_per_s and seen["nvlink_active_mean"] is not None:
        link = float(seen["nvlink_active_mean"]) / (2 * card.link_bytes_per_s)
    elif card is not None and card.pcie_bytes_per_s and pcie is not None:
        link = float(pcie) / (2 * card.pcie_bytes_per_s)
    return UsageWindow(
        coverage=best.coverage or best.known_share or 0.0,
        fidelity=best.fidelity.name.lower(),
        source=best.source.name.lower(),
        active_hours=float(seen["active_hours"] or 0.0),
        active_share=seen["active_share"],
        bandwidth=seen["bandwidth_share_active_mean"],
        bandwidth_p95=seen["bandwidth_share_p95"],
        gpu=seen["gpu_duty_active_mean"],
        sm=seen["sm_active_mean"],
        tensor=seen["tensor_active_mean"],
        memory_peak=seen["memory_used_peak_bytes"],
        link=link,
        pcie_bytes_per_s=pcie,
        network=_ratio(seen["net_active_mean"], offer.network_bytes_per_s if offer else None, 2),
        disk=_ratio(seen["disk_active_mean"], offer.storage_read_bytes_per_s if offer else None, 1),
        cards=rental.cards,
        nodes=nodes,
        throttled=sums["throttled_minutes"] / sums["minutes"] if sums["minutes"] else None,
        faults=sums["xid_count"] + sums["ecc_uncorrected_count"],
    )


def _ratio(rate: float | None, most: float | None, ways: int) -> float | None:
    return None if rate is None or not most else float(rate) / (ways * most)


def per_hour(price: Decimal, kind: str) -> Decimal:
    """A price as a price of an hour of the term (720 h a month, 8,760 h a year)."""
    return price / _HOURS[kind]


def cheapest(
    rental: Any, window: UsageWindow, card: CardSpec, offers: Sequence[OfferView]
) -> Alternative | None:
    """The package with the largest saving that passes the what-if, on the rental's own kind of
    term and in its currency; the cheapest offer of each card model is tried."""
    own = own_price(rental)
    if own is None or own[0] not in _HOURS or not own[1]:
        return None
    kind, price, quantity = own
    old = price * quantity / rental.cards
    best: dict[str, tuple[Decimal, OfferView]] = {}
    for offer in offers:
        for term in offer.prices:
            if term.kind != kind or term.currency != rental.currency:
                continue
            each = term.gross / offer.cards_per_unit
            if each < best.get(offer.card.slug, (old, offer))[0] and offer.card.slug != card.slug:
                best[offer.card.slug] = (each, offer)
    found = None
    link = None
    if window.cards > 1 and window.link is not None and card.link_bytes_per_s:
        link = window.link * card.link_bytes_per_s
    for each, offer in best.values():
        tried = what_if(
            window, card, offer.card, old_price=old, new_price=each, link_bytes_per_s=link
        )
        if tried.passes and (found is None or (tried.saving or 0) > (found.what_if.saving or 0)):
            found = Alternative(tried, offer.vendor, offer.card.slug, offer.card.name, each, kind)
    return found


def _evidence(
    rental: Any,
    known: Known,
    best: telemetry.UsageRow | None,
    verdict: Verdict | None,
    cheaper: Alternative | None,
    offer: OfferView | None,
    use: Use,
) -> Evidence:
    begin = max(known.period.start, rental.starts_at)
    models = known.models.get(rental.pk, ())
    prices, _ = prices_of(rental, offer)
    active, covered = known.recent.get(rental.pk, (None, None))
    seen = best.figures if best else {}
    return Evidence(
        days=float(seconds(known.period.end - begin) / 86_400),
        held_hours=best.expected_card_hours if best else 0.0,
        coverage=(best.coverage or best.known_share) if best else None,
        active_hours=seen.get("active_hours"),
        fidelity=best.fidelity.name.lower() if best else "unknown",
        share=seen.get("bandwidth_share_active_mean"),
        share_p95=seen.get("bandwidth_share_p95"),
        share_max=seen.get("bandwidth_share_max"),
        sm=seen.get("sm_active_mean"),
        tensor=seen.get("tensor_active_mean"),
        active_share=seen.get("active_share"),
        recent_active_share=active,
        recent_coverage=covered,
        models=models,
        slowest_ratio=_spread(models),
        row=verdict.row if verdict else None,
        cause=verdict.cause if verdict else "",
        what_if=cheaper is not None,
        committed=rental.plan_kind not in ("hourly", "spot"),
        hours_per_month=use.hours,
        break_even_hours=_break_even(rental, prices),
        simulated=bool(best and best.simulated),
    )


def _spread(models: tuple[str, ...]) -> float | None:
    """Bandwidth of the fastest card / that of the slowest."""
    cards = [load_cards().get(model) for model in models]
    rates = [c.bandwidth_bytes_per_s for c in cards if c and c.bandwidth_bytes_per_s]
    return max(rates) / min(rates) if rates and len(rates) == len(models) else None


def _break_even(rental: Any, prices: Mapping[str, Decimal]) -> Decimal | None:
    hourly = prices.get("hourly")
    kind = rental.plan_kind if rental.plan_kind in ("monthly", "annual") else "monthly"
    fee = prices.get(kind)
    if not hourly or fee is None:
        return None
    return round_exact(fee / (12 if kind == "annual" else 1) / hourly, 2)


def _parts(
    rental: Any, best: telemetry.UsageRow | None, verdict: Verdict | None, paid: Decimal
) -> dict[str, Decimal]:
    """Where the paid bandwidth of the window went; only measured bandwidth can be divided."""
    if best is None or best.fidelity.name != "DRAM_BW" or not paid:
        return {}
    part = PART_OF_ROW.get(verdict.row if verdict else 0, "unclear")
    rounded = round_exact(paid, currency_places(rental.currency))
    slice_ = Slice(
        rounded,
        best.coverage or 0.0,
        best.figures["active_share"],
        best.figures["bandwidth_share_active_mean"],
        part,
    )
    return {name: value for name, value in divide([slice_], rental.currency).items() if value}


def _savings(
    rental: Any,
    evidence: Evidence,
    cheaper: Alternative | None,
    offer: OfferView | None,
    use: Use,
    month: Decimal,
) -> dict[str, Decimal | None]:
    """Promises a month by kind of flag, at most the rental's own cost of the last 30 days."""
    places = currency_places(rental.currency)
    found: dict[str, Decimal | None] = {}
    if cheaper is not None and cheaper.what_if.saving is not None:
        found["DOWNGRADE_CANDIDATE"] = month * Decimal(str(round(cheaper.what_if.saving, 6)))
    active = [s for s in (evidence.active_share, evidence.recent_active_share) if s is not None]
    if active:
        idle = 1 - Decimal(str(round(max(active), 6)))
        found["IDLE"] = month * idle
    prices, _ = prices_of(rental, offer)
    own = own_price(rental)
    if own and own[0] in KINDS and use.hours is not None and len(prices) > 1:
        costs = compare(prices, use.hours, 12, places).costs
        found["CONTRACT_MISMATCH"] = (costs[own[0]] - min(costs.values())) * own[2] / 12
    return {
        kind: None if value is None else round_exact(capped_saving(value, month) or 0, places)
        for kind, value in found.items()
    }
