"""Rank offers x counts x plans on cost, subject to fit and deadline."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from governance.catalog.domain import IdleCards, OfferView, TermPrice
from governance.kernel.reasons import N_, Reason

from .asks import Ask, read
from .carry import Carried, Profile
from .constants import Values, values
from .costs import Term, cheapest, terms
from .packing import Packed, package, spread, title_reasons
from .shapes import MatchResult, Rejected, RequestSpec

LIMIT = 60
"""Packages worked out in full; the rest are counted."""
HOPE = 0.75
"""A count is worth a closer look if it could be this much better than in proportion."""


@dataclass(slots=True)
class Bid:
    """An offer that may compete."""

    offer: OfferView
    profile: Profile
    terms: list[Term]
    counts: list[int]

    def units(self, count: int) -> int:
        return -(-count // self.offer.cards_per_unit)

    def cost(self, hours: float, count: int) -> float:
        return cheapest(self.terms, hours, self.units(count))[0]


def match(
    request: RequestSpec,
    offers: Sequence[OfferView],
    idle: Sequence[IdleCards] = (),
    *,
    now: datetime | None = None,
    rates: Mapping[str, Decimal] | None = None,
    k: Values | None = None,
    limit: int = LIMIT,
) -> MatchResult:
    """The best packages for a request, best first, and the offers that cannot serve it.

    `rates` turns other currencies into the request's (units of it for one of theirs). Prices not
    valid on `now`'s day are left out; without `now` all hold. Raises Invalid for a request that
    cannot be read. The order of `offers` changes nothing."""
    k = k or values()
    ask = read(request)
    currency = request.currency or _usual_currency(offers)
    known = {currency: Decimal(1), **(rates or {})}
    day = now.date() if now else None
    profiles: dict[tuple[object, ...], Profile | Reason] = {}
    bids: list[Bid] = []
    rejected: list[Rejected] = []
    for offer in offers:
        bid = _bid(ask, offer, known, day, profiles, k)
        if isinstance(bid, Reason):
            rejected.append(_rejected(offer, bid))
        else:
            bids.append(bid)
    chosen: list[tuple[Bid, Carried]] = []
    for bid in bids:
        found = _first(ask, bid)
        if found is None:
            rejected.append(_rejected(bid.offer, bid.profile.why(bid.counts[-1])))
        else:
            chosen.append((bid, found))
    chosen += _alternatives(ask, chosen)
    packed = [
        Packed(bid.offer, bid.profile, bid.terms, carried, bid.units(carried.count), currency)
        for bid, carried in chosen
    ]
    own, refused = _idle(ask, idle, profiles, currency, k)
    rejected += refused
    ranked = _ranked(ask, packed + own)
    front = _front(ranked)
    shown = [p for i, p in enumerate(ranked) if i < limit or id(p) in front]
    packages = [
        package(ask, p, rank=i + 1, pareto=id(p) in front, k=k) for i, p in enumerate(shown)
    ]
    notes = _notes(ask, len(ranked) - len(shown), own, k)
    return MatchResult(
        packages=tuple(title_reasons(ask, packages)),
        rejected=tuple(sorted(rejected, key=lambda r: (r.card, r.vendor, r.offer_id))),
        request=request,
        notes=notes,
    )


def _usual_currency(offers: Sequence[OfferView]) -> str:
    counted = Counter(price.currency for offer in offers for price in offer.prices)
    return min(counted, key=lambda code: (-counted[code], code)) if counted else "CNY"


def _rejected(offer: OfferView, reason: Reason) -> Rejected:
    return Rejected(offer.id, offer.vendor, offer.region, offer.card.slug, reason)


def _bid(
    ask: Ask,
    offer: OfferView,
    rates: Mapping[str, Decimal],
    day: date | None,
    profiles: dict[tuple[object, ...], Profile | Reason],
    k: Values,
) -> Bid | Reason:
    banned = _banned(ask, offer)
    if banned is not None:
        return banned
    valid = [price for price in offer.prices if day is None or _holds(price, day)]
    offered = terms(valid, rates)
    if not offered:
        return _priceless(offer, valid)
    counts = _counts(ask.request, offer)
    if not counts:
        return Reason(
            "smallest_unit",
            N_("The smallest unit is %(unit)s cards, at most %(most)s are asked for."),
            {"unit": offer.cards_per_unit * offer.min_units, "most": ask.request.max_cards},
        )
    profile = _profile(ask, offer, profiles, k)
    if isinstance(profile, Reason):
        return profile
    return Bid(offer, profile, offered, counts)


def _banned(ask: Ask, offer: OfferView) -> Reason | None:
    request = ask.request
    if offer.card.slug in ask.banned:
        return Reason("card_banned", N_("This card is excluded by the request."))
    if request.regions and offer.region not in request.regions:
        return Reason("region", N_("Not in the regions asked for."))
    if request.vendors and offer.vendor not in request.vendors:
        return Reason("vendor", N_("Not one of the vendors asked for."))
    return None


def _holds(price: TermPrice, day: date) -> bool:
    return (price.valid_from is None or price.valid_from <= day) and (
        price.valid_to is None or day < price.valid_to
    )


def _priceless(offer: OfferView, valid: Sequence[TermPrice]) -> Reason:
    if valid:
        found = sorted({price.currency for price in valid})
        return Reason(
            "no_rate",
            N_("No exchange rate for %(currency)s."),
            {"currency": ", ".join(found)},
        )
    return Reason("no_price", N_("No price is valid on this day."))


def _counts(request: RequestSpec, offer: OfferView) -> list[int]:
    """Counts that can be rented: whole units, and whole nodes beyond one node."""
    most = min(request.max_cards, offer.max_cards or request.max_cards)
    unit, node = offer.cards_per_unit, max(1, offer.cards_per_node)
    found = []
    for units in range(offer.min_units, most // unit + 1):
        count = units * unit
        if count <= node or count % node == 0:
            found.append(count)
    return found


def _profile(
    ask: Ask,
    offer: OfferView,
    profiles: dict[tuple[object, ...], Profile | Reason],
    k: Values,
) -> Profile | Reason:
    card = offer.card
    key = (
        card.slug,
        card.memory_bytes,
        card.bandwidth_bytes_per_s,
        offer.cards_per_node,
        offer.link_kind,
        offer.link_bytes_per_s,
        offer.network_bytes_per_s,
        offer.network_shared,
        *_outer(ask, offer),
    )
    found = profiles.get(key)
    if found is None:
        try:
            found = Profile(ask, offer, k)
        except ValueError:
            found = Reason(
                "card_unknown", N_("Bandwidth or tensor rate of this card is not known.")
            )
        profiles[key] = found
    return found


def _outer(ask: Ask, offer: OfferView) -> tuple[object, ...]:
    if ask.training:
        return (offer.storage_read_bytes_per_s, offer.storage_shared)
    return (offer.egress_mbit, offer.round_trips)


def _first(ask: Ask, bid: Bid) -> Carried | None:
    """The smallest count that meets the deadline; the fastest where none does."""
    deadline = ask.request.deadline_hours
    fastest: Carried | None = None
    for count in bid.counts:
        late = deadline is not None and bid.profile.floor_hours(count) > deadline
        if late and count != bid.counts[-1]:
            continue
        found = bid.profile.at(count)
        if found is None:
            continue
        if deadline is None or found.hours <= deadline:
            return found
        if fastest is None or found.hours < fastest.hours:
            fastest = found
    return fastest


def _alternatives(ask: Ask, chosen: Sequence[tuple[Bid, Carried]]) -> list[tuple[Bid, Carried]]:
    """Other counts that may lie on the front of cost against time."""
    front: list[tuple[float, float]] = []
    for bid, carried in chosen:
        _extend(front, carried.hours, bid.cost(carried.hours, carried.count))
    hopes = []
    for index, (bid, carried) in enumerate(chosen):
        work = HOPE * carried.hours * carried.count if ask.tokens else 0.0
        for count in bid.counts:
            if count <= carried.count or not work:
                continue
            hours = max(bid.profile.floor_hours(count), work / count)
            hopes.append((bid.cost(hours, count), hours, index, count))
    hopes.sort(key=lambda h: (h[0], h[1], chosen[h[2]][0].offer.id, h[3]))
    found = []
    for cost, hours, index, count in hopes:
        if _beaten(front, hours, cost):
            continue
        bid = chosen[index][0]
        carried_more = bid.profile.at(count)
        if carried_more is None:
            continue
        paid = bid.cost(carried_more.hours, count)
        if not _beaten(front, carried_more.hours, paid):
            _extend(front, carried_more.hours, paid)
            found.append((bid, carried_more))
    return found


def _beaten(front: list[tuple[float, float]], hours: float, cost: float) -> bool:
    """Is there something no slower and no dearer? `front` rises in hours and falls in cost."""
    at = bisect_right(front, (hours, float("inf")))
    return at > 0 and front[at - 1][1] <= cost


def _extend(front: list[tuple[float, float]], hours: float, cost: float) -> None:
    if _beaten(front, hours, cost):
        return
    insort(front, (hours, cost))
    at = front.index((hours, cost)) + 1
    while at < len(front) and front[at][1] >= cost:
        del front[at]


def _idle(
    ask: Ask,
    idle: Sequence[IdleCards],
    profiles: dict[tuple[object, ...], Profile | Reason],
    currency: str,
    k: Values,
) -> tuple[list[Packed], list[Rejected]]:
    """Cards already paid for, at what the displaced use would cost."""
    packed: list[Packed] = []
    refused: list[Rejected] = []
    for cards in idle:
        offer = cards.offer
        profile = _profile(ask, offer, profiles, k)
        found = _banned(ask, offer) or (
            profile if isinstance(profile, Reason) else _own(ask, cards, profile, k)
        )
        if isinstance(found, Reason):
            refused.append(Rejected(cards.id, offer.vendor, offer.region, offer.card.slug, found))
        elif isinstance(profile, Profile):
            term = Term("own", 1.0, float(cards.displaced_per_hour), cards.displaced_per_hour, None)
            packed.append(Packed(offer, profile, [term], found, found.count, currency, cards))
    return packed, refused


def _own(ask: Ask, cards: IdleCards, profile: Profile, k: Values) -> Carried | Reason:
    window = (cards.ends_at - cards.starts_at).total_seconds() / 3600.0
    limit = min(window, ask.request.deadline_hours or window)
    most = min(cards.count, ask.request.max_cards)
    best: Carried | None = None
    for count in range(1, most + 1):
        if count > profile.node and count % profile.node:
            continue
        found = profile.at(count)
        if found is None:
            continue
        best = found
        if found.hours * spread(ask, profile, k) <= limit:
            return found
    if best is None:
        return profile.why(most)
    return Reason(
        "window_short",
        N_("Free for %(window)s h; the job takes up to %(hours)s h on %(count)s cards."),
        {
            "window": round(window, 1),
            "hours": round(best.hours * spread(ask, profile, k), 1),
            "count": best.count,
        },
    )


def _ranked(ask: Ask, packed: list[Packed]) -> list[Packed]:
    def key(p: Packed) -> tuple[object, ...]:
        meets = p.meets(ask)
        return (
            not (p.idle is not None and meets),
            not meets,
            not p.affordable(ask),
            bool(ask.preferred) and p.offer.card.slug not in ask.preferred,
            p.cost,
            p.carried.hours,
            p.key,
            p.carried.count,
        )

    return sorted(packed, key=key)


def _front(ranked: Sequence[Packed]) -> set[int]:
    found: set[int] = set()
    lowest = float("inf")
    for p in sorted(ranked, key=lambda p: (p.carried.hours, p.cost, p.key)):
        if p.cost < lowest:
            found.add(id(p))
            lowest = p.cost
    return found


def _notes(ask: Ask, hidden: int, own: Sequence[Packed], k: Values) -> tuple[Reason, ...]:
    notes = []
    if hidden:
        notes.append(
            Reason(
                "more",
                N_("%(count)s dearer or slower packages are not listed."),
                {"count": hidden},
            )
        )
    if len({p.offer.card.slug for p in own}) > 1:
        notes.append(
            Reason(
                "mixed",
                N_(
                    "Cards of different models in one job all run at the pace of the slowest: "
                    "take one model."
                ),
            )
        )
    return tuple(notes)
