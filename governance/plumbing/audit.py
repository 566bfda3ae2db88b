"""The append-only trail. `record` writes one row in the act's own transaction; a task seals rows
into a hash chain afterwards, so that acts never wait for each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import structlog
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction

from governance.kernel.policy import Actor
from governance.plumbing import clock
from governance.plumbing.models import AuditEvent, AuditSeal

_START = "0" * 64


def record(
    *,
    actor: Actor,
    act: str,
    thing: models.Model | tuple[str, object],
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
    project_id: int | None = None,
) -> AuditEvent:
    """Write the act's audit row. `thing` is a saved model or (type, id); values are JSON-able."""
    if not connection.in_atomic_block:
        raise RuntimeError("an audit row belongs into the transaction of its act")
    if isinstance(thing, models.Model):
        thing_type, thing_id = thing._meta.label_lower, str(thing.pk)
        if project_id is None:
            project_id = getattr(thing, "project_id", None)
    else:
        thing_type, thing_id = thing[0], str(thing[1])
    context = structlog.contextvars.get_contextvars()
    return AuditEvent.objects.create(
        at=clock.now(),
        actor_key=actor.actor_key,
        actor_name=actor.display,
        act=act,
        thing_type=thing_type,
        thing_id=thing_id,
        project_id=project_id,
        before=_plain(before),
        after=_plain(after),
        reason=reason,
        request_id=str(context.get("request_id", ""))[:64],
    )


def trail(**filters: object) -> models.QuerySet[AuditEvent]:
    """Events by their columns, newest first."""
    return AuditEvent.objects.filter(**filters).order_by("-id")


def _plain(value: Mapping[str, Any] | None) -> Any:
    return None if value is None else json.loads(json.dumps(value, cls=DjangoJSONEncoder))


def digest(previous: str, event: AuditEvent) -> str:
    """SHA-256 over the link before and every column of the event."""
    columns = {f.attname: getattr(event, f.attname) for f in event._meta.concrete_fields}
    text = json.dumps(columns, cls=DjangoJSONEncoder, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def seal(*, limit: int = 5_000) -> int:
    """Append unsealed events to the chain; returns how many. Serialised by an advisory lock."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('audit-seal'))")
        last = AuditSeal.objects.order_by("-id").values_list("digest", flat=True).first() or _START
        seals = []
        for event in AuditEvent.objects.filter(seal=None).order_by("id")[:limit]:
            link = digest(last, event)
            seals.append(AuditSeal(event=event, previous=last, digest=link))
            last = link
        AuditSeal.objects.bulk_create(seals)
        return len(seals)


def verify() -> list[str]:
    """Recompute the chain; one line per fault, empty when it holds."""
    faults, last = [], _START
    for link in AuditSeal.objects.select_related("event").order_by("id").iterator(chunk_size=2_000):
        if link.previous != last:
            faults.append(f"seal {link.pk}: a link before it is missing")
        if digest(link.previous, link.event) != link.digest:
            faults.append(f"event {link.event_id}: its content is not what was sealed")
        last = link.digest
    return faults
