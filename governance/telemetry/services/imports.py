"""Bringing in what was recorded elsewhere. Each import is one transaction: all or nothing, and
the same file twice changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from governance.catalog.domain.packaged import card_for_name
from governance.kernel.policy import SYSTEM, Actor, require
from governance.plumbing import audit
from governance.telemetry.domain.jobs import JobFact
from governance.telemetry.domain.occupancy import Held
from governance.telemetry.domain.page import Page
from governance.telemetry.models import InventoryEntry, Job, Node, Occupancy
from governance.telemetry.models.nodes import FILE
from governance.telemetry.services.ingest import Delivery, Receipt, ingest_pages
from governance.telemetry.services.nodes import enrol_node
from governance.telemetry.services.rollup import roll_up

BATCH = 5_000


@dataclass(frozen=True)
class Stored:
    """How many rows were new, had changed, or were there as they are."""

    new: int
    changed: int
    repeated: int


def import_pages(*, actor: Actor, node: str, pages: Sequence[Page], now: datetime) -> list[Receipt]:
    """Store recorded pages under a node (made if there is none of the name) and roll them up.
    The node's own cursor stays where it is."""
    require(actor, "telemetry.import")
    with transaction.atomic():
        found = Node.objects.filter(name=node).first()
        node_id = (
            found.pk if found else enrol_node(actor=SYSTEM, name=node, mode=FILE, now=now).node_id
        )
        receipts = []
        for page in pages:
            [receipt] = ingest_pages([Delivery(node_id, page, backfill=True)], now=now)
            if receipt.error is not None:
                raise receipt.error
            receipts.append(receipt)
        audit.record(
            actor=actor,
            act="telemetry.import",
            thing=("telemetry.node", node_id),
            after={"stored": sum(receipt.stored for receipt in receipts)},
        )
    roll_up(now=now)
    return receipts


def import_occupancy(*, actor: Actor, rows: Sequence[Held], now: datetime) -> Stored:
    """Store what a scheduler allotted; a row for a known group and time replaces it."""
    require(actor, "telemetry.import")
    columns = ("group", "at", "seconds", "owned", "allotted", "waiting")
    values = [(r.group, r.at, r.seconds, r.owned, r.allotted, r.waiting) for r in rows]
    return _put(actor, "occupancy", Occupancy, columns, 2, values)


def import_jobs(
    *, actor: Actor, cluster: str, unit: str, rows: Sequence[JobFact], now: datetime
) -> Stored:
    """Store a cluster's jobs; a job known by its id is brought up to date."""
    require(actor, "telemetry.import")
    columns = (
        "cluster",
        "job_id",
        "group",
        "person",
        "cards",
        "submitted_at",
        "started_at",
        "ended_at",
        "seconds",
        "unit",
        "state",
        "nodes",
    )
    values = [
        (
            cluster,
            job.job_id,
            job.group,
            job.person,
            job.cards,
            job.submitted_at,
            job.started_at,
            job.ended_at,
            job.seconds,
            unit,
            job.state,
            list(job.nodes),
        )
        for job in rows
    ]
    return _put(actor, "jobs", Job, columns, 2, values)


def import_inventory(
    *, actor: Actor, rows: dict[tuple[str, str], int], now: datetime
) -> tuple[Stored, Counter[str], Counter[str]]:
    """Store an inventory; returns also the cards by model text, and those of unknown models."""
    require(actor, "telemetry.import")
    slugs = {model: card_for_name(model) for _, model in rows}
    columns = ("node", "model_text", "model_slug", "cards", "imported_at")
    values = [
        (node, model, spec.slug if (spec := slugs[model]) else "", cards, now)
        for (node, model), cards in rows.items()
    ]
    stored = _put(actor, "inventory", InventoryEntry, columns, 2, values, ("imported_at",))
    by_model: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for (_, model), cards in rows.items():
        if cards:
            by_model[model] += cards
            if slugs[model] is None:
                unknown[model] += cards
    return stored, by_model, unknown


def _put(
    actor: Actor,
    what: str,
    model: type[Occupancy] | type[Job] | type[InventoryEntry],
    columns: Sequence[str],
    keys: int,
    values: Sequence[tuple[Any, ...]],
    stamps: Sequence[str] = (),
) -> Stored:
    """Insert or bring up to date by the first `keys` columns; counts what changed."""
    new = changed = 0
    with transaction.atomic(), connection.cursor() as cursor:
        for start in range(0, len(values), BATCH):
            inserted, updated = _put_batch(
                cursor, model._meta.db_table, columns, keys, values[start : start + BATCH], stamps
            )
            new, changed = new + inserted, changed + updated
        stored = Stored(new, changed, len(values) - new - changed)
        audit.record(
            actor=actor,
            act=f"telemetry.import_{what}",
            thing=(model._meta.label_lower, ""),
            after={"new": new, "changed": changed},
        )
    return stored


def _put_batch(
    cursor: Any,
    table: str,
    columns: Sequence[str],
    keys: int,
    values: Sequence[tuple[Any, ...]],
    stamps: Iterable[str],
) -> tuple[int, int]:
    names = ", ".join(f'"{name}"' for name in columns)
    unique = ", ".join(f'"{name}"' for name in columns[:keys])
    told = [name for name in columns[keys:] if name not in stamps]
    sets = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in columns[keys:])
    old = ", ".join(f't."{name}"' for name in told)
    fresh = ", ".join(f'EXCLUDED."{name}"' for name in told)
    places = ", ".join(["(" + ", ".join(["%s"] * len(columns)) + ")"] * len(values))
    cursor.execute(
        f"INSERT INTO {table} AS t ({names}) VALUES {places} ON CONFLICT ({unique})"
        f" DO UPDATE SET {sets} WHERE ({old}) IS DISTINCT FROM ({fresh})"
        " RETURNING (xmax = 0)",
        [cell for one in values for cell in one],
    )
    answers = [fresh for (fresh,) in cursor.fetchall()]
    return sum(answers), len(answers) - sum(answers)
