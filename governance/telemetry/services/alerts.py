"""Telling people once that a node is silent, a card lost or a spool full, and once that it is
over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F, Q

from governance.plumbing import outbox
from governance.telemetry.models import Alert, Card, CardHolding, Node, PullState
from governance.telemetry.models.nodes import FILE

if TYPE_CHECKING:
    from governance.telemetry.services.ingest import Delivery

FULL = ("full", "dropping")
"""States of the agent's spool in which it loses rows."""


def after_ingest(deliveries: Sequence[Delivery], nodes: Mapping[int, Node], now: datetime) -> None:
    """Opens and closes the alerts that a page speaks of; a page ends its node's silence."""
    ids = [one.node_id for one in deliveries]
    open_alerts = list(Alert.objects.filter(node_id__in=ids, closed_at=None))
    lost = Card.objects.filter(node_id__in=ids).exclude(state="ok")
    wanted: set[tuple[int, int | None, str]] = {
        (card.node_id, card.pk, Alert.LOST) for card in lost
    }
    for one in deliveries:
        spool = one.page.health.get("spool")
        if isinstance(spool, dict) and spool.get("state") in FULL:
            wanted.add((one.node_id, None, Alert.SPOOL))
    for alert in open_alerts:
        key = (alert.node_id, alert.card_id, alert.kind)
        if key in wanted:
            wanted.discard(key)
        else:
            _close(alert, now)
    for node_id, card_id, kind in sorted(wanted, key=str):
        _open(node_id, card_id, kind, now)


def find_silent(*, now: datetime) -> int:
    """Open an alert for each node that has said nothing for its limit; returns how many."""
    with transaction.atomic():
        candidates = (
            PullState.objects.select_related("node")
            .filter(
                Q(last_ok_at__lt=now - timedelta(minutes=1))
                | Q(last_ok_at=None, node__enrolled_at__lt=now - timedelta(minutes=1)),
                node__revoked_at=None,
            )
            .exclude(node__mode=FILE)
        )
        silent = [
            state
            for state in candidates
            if (state.last_ok_at or state.node.enrolled_at)
            < now - timedelta(minutes=state.node.silent_after_minutes)
        ]
        known = set(
            Alert.objects.filter(kind=Alert.SILENT, closed_at=None).values_list(
                "node_id", flat=True
            )
        )
        fresh = [state.node_id for state in silent if state.node_id not in known]
        for node_id in fresh:
            _open(node_id, None, Alert.SILENT, now)
    return len(fresh)


def _open(node_id: int, card_id: int | None, kind: str, now: datetime) -> None:
    alert = Alert.objects.create(node_id=node_id, card_id=card_id, kind=kind, opened_at=now)
    _tell(alert, "opened", now)


def _close(alert: Alert, now: datetime) -> None:
    alert.closed_at = now
    alert.save(update_fields=["closed_at"])
    _tell(alert, "closed", now)


def _tell(alert: Alert, what: str, now: datetime) -> None:
    held = CardHolding.objects.filter(card__node_id=alert.node_id, span__contains=now)
    if alert.card_id is not None:
        held = held.filter(card_id=alert.card_id)
    outbox.emit(
        kind=f"telemetry.{alert.kind}",
        key=f"telemetry-alert:{alert.pk}:{what}",
        payload={
            "alert": alert.pk,
            "what": what,
            "kind": alert.kind,
            "node": alert.node_id,
            "node_name": alert.node.name,
            "card": alert.card_id,
            "at": now.isoformat(),
            "rentals": sorted(
                set(held.exclude(rental_id=None).values_list("rental_id", flat=True))
            ),
            "projects": sorted(set(held.values_list(F("project_id"), flat=True))),
        },
    )
