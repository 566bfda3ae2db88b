"""Use before renting: cards that stand free in the asked window compete at no cost, and approving
such a package books them in the calendar instead of renting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from governance.catalog import queries as catalog
from governance.catalog.domain import CardSpec, IdleCards, OfferView
from governance.kernel.errors import Refused
from governance.kernel.periods import Period
from governance.kernel.policy import SYSTEM
from governance.kernel.reasons import N_, Reason
from governance.requests.models import ComputeRequest
from governance.telemetry import queries as telemetry
from governance.telemetry import services as calendar

if TYPE_CHECKING:
    from governance.requests.services.matching import Ask

LONGEST = timedelta(days=30)
"""How far ahead cards must be free where the wish names no end."""
OWN = "own"


def idle_for(ask: Ask) -> list[IdleCards]:
    """Free working cards of the asked window, node by node. A card whose model has no figures is
    left out: nothing can be said of it."""
    period = Period(ask.starts_at, ask.needed_by or ask.starts_at + LONGEST)
    nodes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for card in telemetry.idle_cards(period):
        nodes[card.model_slug, card.node].append(card.id)
    specs = catalog.specs_named(slug for slug, _ in nodes)
    return [
        _idle(slug, node, ids, specs, period)
        for (slug, node), ids in sorted(nodes.items())
        if slug in specs and specs[slug].memory_bytes
    ]


def _idle(
    slug: str, node: str, ids: list[int], specs: Mapping[str, CardSpec], period: Period
) -> IdleCards:
    hardware = OfferView(
        id=f"{slug}@{node}",
        vendor=OWN,
        region="",
        card=specs[slug],
        cards_per_node=len(ids),
    )
    return IdleCards(
        id=hardware.id,
        offer=hardware,
        count=len(ids),
        starts_at=period.start,
        ends_at=period.end,
        holder=node,
        card_ids=tuple(sorted(ids)),
    )


def is_own(request: ComputeRequest) -> bool:
    """Whether the chosen package takes cards that are there already."""
    return bool((request.package or {}).get("idle_id"))


def ended(now: datetime) -> list[int]:
    """Running requests on own cards whose booked time is over."""
    rows = ComputeRequest.objects.filter(
        state__in=("active", "extended"), package__idle_id__isnull=False, ends_at__lte=now
    ).exclude(package__idle_id=None)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def book(request: ComputeRequest, now: datetime) -> list[int]:
    """Hold the package's cards for the request; Refused (409) where they are taken by now. Runs in
    the approval's transaction: nobody approves what cannot be booked."""
    assert request.package is not None
    assert request.ends_at is not None
    slug, _, node = str(request.package["idle_id"]).partition("@")
    count = int(request.package["count"])
    start = max(request.starts_at, now)
    free = [
        card
        for card in telemetry.free_cards(slug, Period(start, request.ends_at))
        if card.node == node
    ]
    if len(free) < count:
        raise Refused(
            Reason(
                "own_taken",
                N_("Only %(free)s of the %(count)s cards on %(node)s are still free then."),
                {"free": len(free), "count": count, "node": node},
            )
        )
    return [
        calendar.book_card(
            actor=SYSTEM,
            card_id=card.id,
            starts_at=start,
            ends_at=request.ends_at,
            project_id=request.project_id,
            request_id=request.pk,
            now=now,
        )
        for card in sorted(free, key=lambda card: card.id)[:count]
    ]
