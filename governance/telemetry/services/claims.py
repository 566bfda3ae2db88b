"""Cards and agents as pages claim them: found, made, moved, and conflicts noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl
from django.db import connection

from governance.catalog.domain.packaged import card_for_name
from governance.kernel.policy import SYSTEM
from governance.plumbing import audit
from governance.telemetry.domain.page import CardClaim
from governance.telemetry.models import Card, Conflict, Node

if TYPE_CHECKING:
    from governance.telemetry.services.ingest import Delivery

QUIET_MINUTES = 15
"""A card that its node has not reported for so long may move to another node."""


def resolve(
    deliveries: Sequence[Delivery], nodes: Mapping[int, Node], now: datetime
) -> list[list[int]]:
    """For each delivery the ids of its cards, in the page's order."""
    wanted = {claim.key: (claim, one.node_id) for one in deliveries for claim in one.page.cards}
    known = _known(list(wanted))
    fresh = [(claim, node) for key, (claim, node) in wanted.items() if key not in known]
    if fresh:
        Card.objects.bulk_create(
            [_new_card(claim, node) for claim, node in fresh], ignore_conflicts=True
        )
        known |= _known([claim.key for claim, _ in fresh])
    for one in deliveries:
        if one.backfill:
            continue
        _check_agent(one, nodes[one.node_id], now)
        for claim in one.page.cards:
            _update(known, claim, one.node_id, now)
    return [[known[claim.key].pk for claim in one.page.cards] for one in deliveries]


def _known(keys: list[tuple[str, str]]) -> dict[tuple[str, str], Card]:
    if not keys:
        return {}
    vendors, uuids = zip(*keys, strict=True)
    rows = Card.objects.raw(
        "SELECT c.* FROM telemetry_card c JOIN unnest(%s::text[], %s::text[]) AS k(vendor, uuid)"
        " ON c.vendor = k.vendor AND c.uuid = k.uuid",
        [list(vendors), list(uuids)],
    )
    return {(card.vendor, card.uuid): card for card in rows}


def _new_card(claim: CardClaim, node_id: int) -> Card:
    return Card(
        node_id=node_id,
        vendor=claim.vendor,
        uuid=claim.uuid,
        model_text=claim.model,
        model_slug=_slug(claim.model),
        index=claim.index,
        state=claim.state,
        state_since=claim.state_since,
        simulated=claim.simulated,
        labels=dict(claim.labels),
    )


def _slug(model: str) -> str:
    found = card_for_name(model) if model else None
    return found.slug if found else ""


def _update(
    known: Mapping[tuple[str, str], Card], claim: CardClaim, node_id: int, now: datetime
) -> None:
    card = known[claim.key]
    if card.node_id != node_id and not _take_over(card, node_id, now):
        note_conflict(Conflict.CARD, node_id, card.pk, "", now)
        return
    parent = known.get((claim.vendor, claim.parent)) if claim.parent else None
    told = {
        "model_text": claim.model or card.model_text,
        "model_slug": _slug(claim.model) if claim.model != card.model_text else card.model_slug,
        "index": claim.index,
        "state": claim.state,
        "state_since": claim.state_since,
        "simulated": claim.simulated,
        "labels": dict(claim.labels),
        "parent_id": parent.pk if parent else card.parent_id,
    }
    changed = [name for name, value in told.items() if getattr(card, name) != value]
    if changed:
        for name in changed:
            setattr(card, name, told[name])
        card.save(update_fields=[name.removesuffix("_id") for name in changed])


def _take_over(card: Card, node_id: int, now: datetime) -> bool:
    """Moves the card to the node if its own has been quiet about it or was revoked."""
    quiet_before = int(now.timestamp()) // 60 - QUIET_MINUTES
    if card.node.revoked_at is None and (card.last_minute or 0) > quiet_before:
        return False
    before = card.node_id
    card.node_id = node_id
    card.save(update_fields=["node"])
    audit.record(
        actor=SYSTEM,
        act="cards.move",
        thing=card,
        before={"node": before},
        after={"node": node_id},
    )
    return True


def _check_agent(one: Delivery, node: Node, now: datetime) -> None:
    page = one.page
    if node.agent and node.agent != page.agent:
        note_conflict(Conflict.AGENT, node.pk, None, page.agent, now)
    if node.agent != page.agent:
        for other in Node.objects.filter(agent=page.agent, revoked_at=None).exclude(pk=node.pk):
            note_conflict(Conflict.AGENT, node.pk, None, other.name, now)
    simulated = any(claim.simulated for claim in page.cards)
    told = {
        "agent": page.agent,
        "host_name": page.node,
        "version": page.version,
        "health": dict(page.health),
        "simulated": simulated,
    }
    changed = [name for name, value in told.items() if getattr(node, name) != value]
    if changed:
        for name in changed:
            setattr(node, name, told[name])
        node.save(update_fields=changed)


def note_conflict(
    kind: str, node_id: int, card_id: int | None, other: str, now: datetime, times: int = 1
) -> None:
    """Count a conflict; shown on the node's page."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO telemetry_conflict"
            " (kind, node_id, card_id, other, times, first_seen_at, last_seen_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (kind, node_id, card_id, other) DO UPDATE SET"
            " times = telemetry_conflict.times + EXCLUDED.times,"
            " last_seen_at = EXCLUDED.last_seen_at",
            [kind, node_id, card_id, other[:200], times, now, now],
        )


def note_minutes(rows: pl.DataFrame) -> None:
    """Widen each card's known span of minutes."""
    spans = (
        rows.group_by("card_id")
        .agg(first=pl.col("minute").min(), last=pl.col("minute").max())
        .sort("card_id")
    )
    if spans.height:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE telemetry_card c SET first_minute = LEAST(c.first_minute, s.first),"
                " last_minute = GREATEST(c.last_minute, s.last)"
                " FROM unnest(%s::int[], %s::int[], %s::int[]) AS s(id, first, last)"
                " WHERE c.id = s.id AND (c.first_minute IS NULL OR c.first_minute > s.first"
                " OR c.last_minute < s.last)",
                [spans["card_id"].to_list(), spans["first"].to_list(), spans["last"].to_list()],
            )
