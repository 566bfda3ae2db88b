"""Cards and who holds them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from governance.kernel.periods import Period
from governance.kernel.policy import Actor
from governance.telemetry.models import Card, CardHolding, Node


@dataclass(frozen=True)
class CardView:
    """A card as other rooms see it."""

    id: int
    label: str
    node: str
    vendor: str
    uuid: str
    model_slug: str
    model_text: str
    state: str
    simulated: bool


@dataclass(frozen=True)
class HoldingView:
    """A span for which a card is held; `ends_at` None: until further notice."""

    id: int
    card: CardView
    starts_at: datetime
    ends_at: datetime | None
    project_id: int
    request_id: int | None
    rental_id: int | None


def card_view(card: Card) -> CardView:
    return CardView(
        id=card.pk,
        label=str(card),
        node=card.node.name,
        vendor=card.vendor,
        uuid=card.uuid,
        model_slug=card.model_slug,
        model_text=card.model_text,
        state=card.state,
        simulated=card.simulated,
    )


def free_cards(card_model: str | None, period: Period) -> list[CardView]:
    """Working whole cards of the model (a slug; None: any) that nobody holds at any time of the
    period. For rooms that book; not bound to a viewer."""
    cards = Card.objects.select_related("node").filter(
        state="ok", parent=None, node__revoked_at=None
    )
    if card_model is not None:
        cards = cards.filter(model_slug=card_model)
    taken = CardHolding.objects.filter(span__overlap=(period.start, period.end))
    return [card_view(card) for card in cards.exclude(pk__in=taken.values("card_id"))]


def idle_cards(period: Period) -> list[CardView]:
    """Cards of any model that are free over the whole period: what a request may take at no new
    rental."""
    return free_cards(None, period)


def cards_of_rental(rental_id: int) -> list[CardView]:
    """The cards that a rental holds or held, each once."""
    seen = {holding.card.id: holding.card for holding in holdings_of_rental(rental_id)}
    return list(seen.values())


def holdings_of_rental(rental_id: int) -> list[HoldingView]:
    """Every span for which a rental holds or held a card, oldest first."""
    rows = CardHolding.objects.filter(rental_id=rental_id, span__isempty=False)
    return [holding_view(row) for row in rows.select_related("card__node").order_by("span", "pk")]


def holding_view(row: CardHolding) -> HoldingView:
    return HoldingView(
        id=row.pk,
        card=card_view(row.card),
        starts_at=row.span.lower,
        ends_at=row.span.upper,
        project_id=row.project_id,
        request_id=row.request_id,
        rental_id=row.rental_id,
    )


def card_ids_by_uuid(uuids: Collection[str]) -> dict[str, int]:
    """Ids of enrolled cards by UUID, for rooms that book; not bound to a viewer."""
    return dict(Card.objects.filter(uuid__in=uuids).values_list("uuid", "pk"))


def cards_for(viewer: Actor) -> QuerySet[Card]:
    """The cards that the viewer may see, with their nodes."""
    return Card.objects.visible_to(viewer).select_related("node")


def card_label(card_id: int | None) -> str:
    """How a card is called in a sentence; empty where there is none."""
    card = Card.objects.select_related("node").filter(pk=card_id).first() if card_id else None
    return str(card) if card else ""


def cards_matching(
    viewer: Actor, *, node: Node | None = None, held: bool | None = None, now: datetime
) -> list[Card]:
    """The viewer's cards of a node (None: any), held at `now` or free then (None: either)."""
    cards = cards_for(viewer)
    if node is not None:
        cards = cards.filter(node=node)
    if held is not None:
        taken = CardHolding.objects.filter(span__contains=now).values("card_id")
        cards = cards.filter(pk__in=taken) if held else cards.exclude(pk__in=taken)
    return list(cards)


def held_at(viewer: Actor, now: datetime) -> dict[int, CardHolding]:
    """Card id -> the holding at an instant, of those that the viewer may see."""
    rows = CardHolding.objects.visible_to(viewer).filter(span__contains=now)
    return {row.card_id: row for row in rows.select_related("project")}


def holdings_of(viewer: Actor, card: Card) -> QuerySet[CardHolding]:
    """Who held a card, the latest first, as far as the viewer may see."""
    rows = CardHolding.objects.visible_to(viewer).filter(card=card, span__isempty=False)
    return rows.select_related("project__team").order_by("-span")
