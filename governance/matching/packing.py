"""From a way to carry a request to the package that a person reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import exp

from governance.catalog.domain import IdleCards, OfferView
from governance.kernel.money import currency_places, round_exact
from governance.kernel.reasons import N_, Reason

from .asks import Ask
from .carry import Carried, Profile
from .choices import explain
from .constants import Values
from .costs import Term, cheapest, exact_cost
from .egress import service_egress
from .shapes import Package

SPREADS = {
    "pretrain": "pretrain_auto",
    "full": "full",
    "lora": "lora",
    "qlora": "qlora",
    "batch_inference": "decode",
    "serving": "decode",
}


@dataclass(slots=True)
class Packed:
    """A candidate in the ranking."""

    offer: OfferView
    profile: Profile
    terms: list[Term]
    carried: Carried
    units: int
    currency: str
    idle: IdleCards | None = None
    cost: float = field(init=False)
    term: Term = field(init=False)

    def __post_init__(self) -> None:
        self.cost, self.term = cheapest(self.terms, self.carried.hours, self.units)

    @property
    def key(self) -> str:
        return self.idle.id if self.idle else self.offer.id

    def lead_hours(self, ask: Ask) -> float:
        """Hours before work can start: bringing data, loading weights, filing."""
        return sum(setup(ask, self.offer, self.carried.nodes)) + filing_hours(ask, self.offer)

    def meets(self, ask: Ask) -> bool:
        deadline = ask.request.deadline_hours
        if deadline is None:
            return True
        if ask.request.method == "serving":
            return self.lead_hours(ask) <= deadline
        return self.carried.hours + self.lead_hours(ask) <= deadline

    def affordable(self, ask: Ask) -> bool:
        budget = ask.request.budget
        return budget is None or self.cost <= float(budget)


def spread(ask: Ask, profile: Profile, k: Values) -> float:
    """Factor by which a prediction may be off either way."""
    width = k["interval." + SPREADS[ask.request.method]]
    if not profile.card.bandwidth_confirmed:
        width += k["interval.composed"]
    return exp(width)


def setup(ask: Ask, offer: OfferView, nodes: int) -> tuple[float, float]:
    """Hours to bring the data to the cards' region and to load the weights."""
    request = ask.request
    moving = 0.0
    away = request.data_region is not None and request.data_region != offer.region
    if request.data_gb and away and offer.ingress_mbit:
        moving = request.data_gb * 8000.0 / (offer.ingress_mbit * nodes) / 3600.0
    loading = 0.0
    if offer.storage_read_bytes_per_s:
        size = ask.model.params * ask.weight_bits / 8
        loading = size / offer.storage_read_bytes_per_s / 3600.0
    return moving, loading


def setup_cost(ask: Ask, offer: OfferView) -> Decimal:
    """Traffic of bringing the data, beyond what the offer includes."""
    request = ask.request
    away = request.data_region is not None and request.data_region != offer.region
    if not (request.data_gb and away and offer.overage_per_gb):
        return Decimal(0)
    beyond = max(0.0, request.data_gb - (offer.traffic_cap_gb or 0.0))
    return offer.overage_per_gb * Decimal(repr(round(beyond, 3)))


def filing_hours(ask: Ask, offer: OfferView) -> float:
    """Lead time of a public service's registration, where the region asks for one."""
    serving = ask.request.method == "serving"
    if not serving or ask.request.filing_done or not offer.filing_required:
        return 0.0
    return 24.0 * (offer.filing_days or 0)


def layer_shares(ask: Ask, p: Packed) -> dict[str, float]:
    """Share of the step that each layer takes by itself; of the offered rate for egress."""
    step = p.carried.step
    total = step.total
    found = {
        "memory": step.memory / total,
        "interconnect": step.interconnect / total,
        "network": step.network / total,
        "compute": step.compute / total,
        "storage": step.storage / total,
    }
    if ask.request.method == "serving" and p.offer.egress_mbit:
        found["egress"] = p.carried.egress_mbit / (p.offer.egress_mbit * p.carried.nodes)
    return {name: min(1.0, share) for name, share in found.items()}


def package(ask: Ask, p: Packed, *, rank: int, pareto: bool, k: Values) -> Package:
    """The package in full."""
    carried, offer, request = p.carried, p.offer, ask.request
    factor = 1.0 if request.method == "serving" else spread(ask, p.profile, k)
    layers = layer_shares(ask, p)
    bottleneck = max(layers, key=lambda name: (layers[name], name))
    moving, loading = setup(ask, offer, carried.nodes)
    places = currency_places(p.currency)
    costs = {t.kind: exact_cost(t, carried.hours, p.units, p.currency) for t in p.terms}
    best = p.term
    egress = None
    if request.method == "serving":
        offered = None if offer.egress_mbit is None else offer.egress_mbit * carried.nodes
        egress = service_egress(
            request, carried.stream_rate, offered, offer.traffic_cap_gb, offer.overage_per_gb
        )
    return Package(
        offer_id=offer.id,
        vendor=offer.vendor,
        region=offer.region,
        card=offer.card.slug,
        card_name=offer.card.name,
        count=carried.count,
        nodes=carried.nodes,
        cards_per_node=min(p.profile.node, carried.count),
        units=p.units,
        plan=carried.plan,
        memory=carried.memory,
        step=carried.step,
        layers=layers,
        bottleneck=bottleneck,
        tokens_per_s=carried.tokens_per_s,
        hours=carried.hours,
        hours_low=carried.hours / factor,
        hours_high=carried.hours * factor,
        setup_hours=moving + loading,
        setup_cost=round_exact(setup_cost(ask, offer), places),
        costs=costs,
        best_term=best.kind,
        cost=costs[best.kind],
        cost_low=_at(p, carried.hours / factor),
        cost_high=_at(p, carried.hours * factor),
        currency=p.currency,
        meets_deadline=p.meets(ask),
        within_budget=p.affordable(ask),
        rank=rank,
        pareto=pareto,
        notes=tuple(_notes(ask, p)),
        choices=explain(carried.plan, p.profile.job),
        idle_id=p.idle.id if p.idle else None,
        egress=egress,
        ttft_ms=carried.ttft_ms,
        price_id=best.price_id,
    )


def _at(p: Packed, hours: float) -> Decimal:
    _, term = cheapest(p.terms, hours, p.units)
    return exact_cost(term, hours, p.units, p.currency)


def _notes(ask: Ask, p: Packed) -> list[Reason]:
    offer, found = p.offer, []
    if not p.profile.card.bandwidth_confirmed:
        found.append(
            Reason(
                "unconfirmed",
                N_("The figures of this card are provisional: confirm the variant first."),
            )
        )
    if offer.network_bytes_per_s is None and p.carried.nodes > 1:
        found.append(
            Reason(
                "network_assumed",
                N_("The network between nodes is not stated: 200 Gbit/s a node assumed."),
            )
        )
    if offer.network_shared and p.carried.nodes > 1:
        found.append(Reason("network_shared", N_("The network between nodes is shared.")))
    if offer.host_shared:
        found.append(
            Reason("host_shared", N_("The host is shared: other tenants may take bandwidth."))
        )
    if ask.training and not offer.storage_read_bytes_per_s:
        found.append(Reason("storage_unknown", N_("The storage rate is not stated.")))
    if p.term.kind == "spot":
        found.append(Reason("spot", N_("Spot cards may be taken away at any time.")))
    days = filing_hours(ask, offer) / 24.0
    if days:
        found.append(
            Reason(
                "filing",
                N_("Filing takes %(days)s days before the service may start."),
                {"days": round(days)},
            )
        )
    if ask.request.method == "serving":
        found += _serving_notes(ask, p)
    if p.idle is not None:
        found.append(
            Reason(
                "idle",
                N_("Already paid for: %(count)s cards of %(holder)s, free %(start)s to %(end)s."),
                {
                    "count": p.idle.count,
                    "holder": p.idle.holder,
                    "start": p.idle.starts_at.isoformat(timespec="minutes"),
                    "end": p.idle.ends_at.isoformat(timespec="minutes"),
                },
            )
        )
    return found


def _serving_notes(ask: Ask, p: Packed) -> list[Reason]:
    found = [
        Reason(
            "egress_estimate",
            N_("Public bandwidth is an empirical estimate; confirm it by a load test."),
        )
    ]
    region = ask.request.users_region
    if region and p.profile.round_trip() is None:
        found.append(
            Reason(
                "rtt_unknown",
                N_("The round trip to %(region)s is not known and not in the first-token time."),
                {"region": region},
            )
        )
    return found


def title_reasons(ask: Ask, packages: Sequence[Package]) -> list[Package]:
    """The packages with the sentence that says why each stands where it does."""
    good = [p for p in packages if p.meets_deadline and p.within_budget]
    best = good[0] if good else None
    return [dataclasses.replace(p, reason=_reason(ask, p, best)) for p in packages]


def _reason(ask: Ask, p: Package, best: Package | None) -> Reason:
    if not p.meets_deadline:
        late = p.hours + p.setup_hours - (ask.request.deadline_hours or 0.0)
        return Reason("late", N_("Misses the deadline by %(hours)s h."), {"hours": _short(late)})
    if not p.within_budget:
        over = p.cost - (ask.request.budget or Decimal(0))
        return Reason(
            "over_budget",
            N_("%(amount)s %(currency)s over the budget."),
            {"amount": str(over), "currency": p.currency},
        )
    if best is None or p is best:
        return _best(ask, p)
    return _beside(p, best)


def _best(ask: Ask, p: Package) -> Reason:
    if p.idle_id is not None:
        return Reason("own_first", N_("Already paid for and free in time: use before renting."))
    if ask.request.deadline_hours is not None:
        return Reason(
            "cheapest_in_time",
            N_("Cheapest that meets the deadline of %(hours)s h; limited by %(layer)s."),
            {"hours": _short(ask.request.deadline_hours), "layer": p.bottleneck},
        )
    return Reason("cheapest", N_("Cheapest that fits; limited by %(layer)s."), _layer(p))


def _layer(p: Package) -> dict[str, object]:
    return {"layer": p.bottleneck}


def _beside(p: Package, best: Package) -> Reason:
    more = str(p.cost - best.cost)
    params = {"amount": more, "currency": p.currency, "layer": p.bottleneck}
    if p.hours < best.hours:
        return Reason(
            "faster",
            N_("%(hours)s h faster than the first for %(amount)s %(currency)s more."),
            {**params, "hours": _short(best.hours - p.hours)},
        )
    return Reason(
        "dearer",
        N_("%(amount)s %(currency)s dearer than the first and no faster; limited by %(layer)s."),
        params,
    )


def _short(hours: float) -> str:
    return f"{hours:.1f}" if hours < 100 else f"{hours:.0f}"
