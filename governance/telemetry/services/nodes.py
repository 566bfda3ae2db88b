"""Enrolling nodes and their tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from governance.kernel.errors import Invalid, Refused
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit
from governance.plumbing.locks import lock_one
from governance.telemetry.domain import tokens
from governance.telemetry.models import Node, PullState
from governance.telemetry.models.nodes import FILE, PULL, PUSH

OVERLAP = timedelta(hours=24)
"""How long the token before a rotation stays good."""

NAME = re.compile(r"[\w][\w.:@ -]{0,119}")


@dataclass(frozen=True)
class Enrolment:
    """A node and its token; the token can be shown only now."""

    node_id: int
    token: str


def enrol_node(
    *,
    actor: Actor,
    name: str,
    mode: str = PULL,
    address: str = "",
    interval_seconds: int = 60,
    silent_after_minutes: int = 10,
    labels: Mapping[str, str] | None = None,
    now: datetime,
) -> Enrolment:
    """Enrol a node that is pulled at `address` or pushes by itself. Invalid on a bad field,
    Refused when the name is taken."""
    require(actor, "nodes.manage")
    _check(name, mode, address, interval_seconds, silent_after_minutes)
    with transaction.atomic():
        if Node.objects.filter(name=name).exists():
            raise Refused(Reason("name_taken", N_("A node of this name exists.")))
        node = Node.objects.create(
            name=name,
            mode=mode,
            address=address.rstrip("/"),
            interval_seconds=interval_seconds,
            silent_after_minutes=silent_after_minutes,
            labels=dict(labels or {}),
            token_nonce=tokens.new_nonce(),
            token_issued_at=now,
            enrolled_at=now,
        )
        PullState.objects.create(node=node, due_at=now)
        audit.record(actor=actor, act="nodes.enrol", thing=node, after=_told(node))
    return Enrolment(node.pk, _token(node, node.token_nonce))


def change_node(
    *,
    actor: Actor,
    node_id: int,
    mode: str,
    address: str,
    interval_seconds: int,
    silent_after_minutes: int,
    labels: Mapping[str, str],
    now: datetime,
) -> None:
    """Change how a node is reached and how often."""
    require(actor, "nodes.manage")
    with transaction.atomic():
        node = lock_one(Node.objects.all(), node_id)
        _check(node.name, mode, address, interval_seconds, silent_after_minutes)
        before = _told(node)
        node.mode, node.address = mode, address.rstrip("/")
        node.interval_seconds = interval_seconds
        node.silent_after_minutes = silent_after_minutes
        node.labels = dict(labels)
        node.save()
        PullState.objects.filter(node=node).update(due_at=now, failures=0)
        audit.record(actor=actor, act="nodes.change", thing=node, before=before, after=_told(node))


def rotate_token(*, actor: Actor, node_id: int, now: datetime) -> Enrolment:
    """A new token; the one before stays good for 24 hours."""
    require(actor, "nodes.manage")
    with transaction.atomic():
        node = lock_one(Node.objects.all(), node_id)
        _refuse_revoked(node)
        node.previous_nonce, node.previous_until = node.token_nonce, now + OVERLAP
        node.token_nonce, node.token_issued_at = tokens.new_nonce(), now
        node.save()
        audit.record(
            actor=actor, act="nodes.rotate", thing=node, after={"overlap": node.previous_until}
        )
    return Enrolment(node.pk, _token(node, node.token_nonce))


def revoke_node(*, actor: Actor, node_id: int, reason: str, now: datetime) -> None:
    """Refuse the node from now on; what it sent stays."""
    require(actor, "nodes.manage")
    with transaction.atomic():
        node = lock_one(Node.objects.all(), node_id)
        _refuse_revoked(node)
        node.revoked_at, node.previous_nonce, node.previous_until = now, "", None
        node.save()
        audit.record(actor=actor, act="nodes.revoke", thing=node, reason=reason)


def tokens_of(node: Node, now: datetime) -> list[str]:
    """The tokens that are good now, the newest first."""
    found = [_token(node, node.token_nonce)]
    if node.previous_nonce and node.previous_until and node.previous_until > now:
        found.append(_token(node, node.previous_nonce))
    return found


def node_for_token(given: str, now: datetime) -> Node | None:
    """The node that a token belongs to, or None: unknown, old or revoked."""
    number = tokens.node_of(given)
    node = Node.objects.filter(pk=number, revoked_at=None).first() if number else None
    if node is None:
        return None
    nonces = [node.token_nonce]
    if node.previous_nonce and node.previous_until and node.previous_until > now:
        nonces.append(node.previous_nonce)
    good = [tokens.matches(given, settings.SECRET_KEY, node.pk, nonce) for nonce in nonces]
    return node if any(good) else None


def _token(node: Node, nonce: str) -> str:
    return tokens.token(settings.SECRET_KEY, node.pk, nonce)


def _refuse_revoked(node: Node) -> None:
    if node.revoked_at is not None:
        raise Refused(Reason("revoked", N_("This node was revoked.")))


def _check(name: str, mode: str, address: str, interval: int, silent_after: int) -> None:
    if not NAME.fullmatch(name):
        raise Invalid(
            Reason("name", N_("A name has 1 to 120 letters, digits, spaces or . : @ _ -.")), "name"
        )
    if mode not in (PULL, PUSH, FILE):
        raise Invalid(Reason("mode", N_("The way is pull or push.")), "mode")
    parts = urlsplit(address)
    if mode == PULL and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise Invalid(
            Reason("address", N_("Pulling needs an address such as http://10.0.0.7:9400.")),
            "address",
        )
    if not 5 <= interval <= 3600:
        raise Invalid(
            Reason("interval", N_("The interval is 5 to 3600 seconds.")), "interval_seconds"
        )
    if not 1 <= silent_after <= 10_080:
        raise Invalid(
            Reason("silent", N_("A node counts as silent after 1 to 10080 minutes.")),
            "silent_after_minutes",
        )


def _told(node: Node) -> dict[str, object]:
    return {
        "name": node.name,
        "mode": node.mode,
        "address": node.address,
        "interval_seconds": node.interval_seconds,
        "silent_after_minutes": node.silent_after_minutes,
        "labels": node.labels,
    }
