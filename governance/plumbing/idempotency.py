"""POST twice = once: the answer of the first is given again for the same key and body."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction

from governance.kernel.errors import Busy, Invalid
from governance.kernel.reasons import N_, Reason
from governance.plumbing import clock
from governance.plumbing.models import IdempotencyKey


def fingerprint(body: bytes, path: str) -> str:
    """What makes two POSTs the same: path and body."""
    return hashlib.sha256(path.encode() + b"\n" + body).hexdigest()


def once(
    *, actor_key: str, key: str, fingerprint: str, act: Callable[[], tuple[int, Any]]
) -> tuple[int, Any]:
    """Run `act` in a transaction that also keeps its (status, JSON answer) under the key.

    The same key with another body is Invalid; the same key while the first still runs is Busy.
    An act that raises keeps nothing, so it may be tried again.
    """
    known = IdempotencyKey.objects.filter(actor_key=actor_key, key=key).first()
    if known is None:
        try:
            with transaction.atomic():
                row = IdempotencyKey.objects.create(
                    actor_key=actor_key,
                    key=key,
                    fingerprint=fingerprint,
                    status=0,
                    created_at=clock.now(),
                )
                row.status, row.answer = act()
                row.save(update_fields=["status", "answer"])
                return row.status, row.answer
        except IntegrityError as error:
            if "one_key_per_actor" not in str(error):
                raise
            raise Busy() from error
    if known.fingerprint != fingerprint:
        raise Invalid(
            Reason("key_reused", N_("This idempotency key was used for another request.")),
            "Idempotency-Key",
        )
    return known.status, known.answer
