"""The one way in: pages from pulls, pushes and backfills become stored minutes, once.

Many pages are stored in one transaction, set by set, so that thousands of small nodes cost
little. In it: the states are locked, cards resolved by (vendor, uuid), rows copied into their
day's partition (under a savepoint; rows that clash take the slower merge), hours marked dirty,
gaps, conflicts and rejections counted, and the cursors moved. If a transaction of several pages
fails, each page is tried alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import polars as pl
from django.db import Error, connection, transaction

from governance.kernel.errors import Busy, DomainError, Refused
from governance.kernel.reasons import N_, Reason
from governance.telemetry.domain.merge import fold_page
from governance.telemetry.domain.page import Page
from governance.telemetry.models import Conflict, Gap, Node, PullState, Rejection, Stream
from governance.telemetry.services import alerts, claims, store

LEASE = timedelta(seconds=90)
"""For how long a claimed node belongs to its puller; each stored page renews it."""


@dataclass(frozen=True)
class Delivery:
    """A page of a node. `after` is the cursor it answers (None for pushes and backfills, which
    are not bound to the cursor); `lease` proves that the puller still owns the node; a `backfill`
    says nothing about the node itself and moves no cursor."""

    node_id: int
    page: Page
    after: str | None = None
    lease: UUID | None = None
    backfill: bool = False


@dataclass
class Receipt:
    """What became of a page; `error` is set when nothing of it was stored."""

    node_id: int
    stored: int = 0
    repeated: int = 0
    clashes: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    error: DomainError | Exception | None = None


def ingest_page(
    *,
    node_id: int,
    page: Page,
    after: str | None = None,
    lease: UUID | None = None,
    now: datetime,
) -> Receipt:
    """Store one page; raises what went wrong (Busy, Refused, a database error)."""
    [receipt] = _store([Delivery(node_id, page, after, lease)], now)
    return receipt


def ingest_pages(deliveries: Sequence[Delivery], *, now: datetime) -> list[Receipt]:
    """Store pages of different nodes, all or each by itself; one receipt per delivery."""
    try:
        return _store(deliveries, now)
    except (DomainError, Error) as error:
        if len(deliveries) == 1:
            return [Receipt(deliveries[0].node_id, error=error)]
    return [receipt for one in deliveries for receipt in ingest_pages([one], now=now)]


def _store(deliveries: Sequence[Delivery], now: datetime) -> list[Receipt]:
    with transaction.atomic():
        states = _lock(deliveries, now)
        nodes = Node.objects.in_bulk([one.node_id for one in deliveries])
        for one in deliveries:
            if nodes[one.node_id].revoked_at is not None:
                raise Refused(Reason("revoked", N_("This node was revoked.")))
        receipts = [Receipt(one.node_id, rejected=Counter(one.page.rejected)) for one in deliveries]
        streams = _streams(deliveries, now)
        cards = claims.resolve(deliveries, nodes, now)
        parts = []
        for place, one in enumerate(deliveries):
            rows, lost = fold_page(one.page.rows)
            receipts[place].clashes += lost
            parts.append(_with_ids(rows, place, streams[place], cards[place]))
        rows = pl.concat(parts)
        rows = _without_too_old(rows, receipts)
        outcome = store.store_rows(rows)
        for place, stored in rows.group_by("delivery").len().iter_rows():
            receipts[place].stored = (
                stored - outcome.repeated.get(place, 0) - outcome.lost.get(place, 0)
            )
            receipts[place].repeated = outcome.repeated.get(place, 0)
            receipts[place].clashes += outcome.clashes.get(place, 0)
        store.mark_dirty(rows, now)
        claims.note_minutes(rows)
        _note(deliveries, receipts, nodes, now)
        _move(deliveries, receipts, nodes, states, rows, now)
        alerts.after_ingest([one for one in deliveries if not one.backfill], nodes, now)
    return receipts


def _lock(deliveries: Sequence[Delivery], now: datetime) -> dict[int, PullState]:
    wanted = [one.node_id for one in deliveries]
    rows = PullState.objects.filter(pk__in=wanted).order_by("pk").select_for_update(no_key=True)
    states = {state.node_id: state for state in rows}
    for one in deliveries:
        state = states[one.node_id]
        if one.lease is not None and (
            state.lease != one.lease or not state.leased_until or state.leased_until < now
        ):
            raise Busy(Reason("lease_lost", N_("Another worker pulls this node now.")))
        if one.after is not None and state.cursor != one.after:
            raise Busy(Reason("cursor_moved", N_("This page was stored already.")))
    return states


def _streams(deliveries: Sequence[Delivery], now: datetime) -> list[int]:
    keys = [(one.node_id, one.page.agent, one.page.epoch) for one in deliveries]
    Stream.objects.bulk_create(
        [
            Stream(node_id=n, agent=a, epoch=e, first_seen_at=now, last_seen_at=now)
            for n, a, e in sorted(set(keys))
        ],
        update_conflicts=True,
        update_fields=["last_seen_at"],
        unique_fields=["node", "agent", "epoch"],
    )
    found = Stream.objects.filter(node_id__in=[key[0] for key in keys]).filter(
        epoch__in=[key[2] for key in keys]
    )
    ids = {(row.node_id, row.agent, row.epoch): row.pk for row in found}
    return [ids[key] for key in keys]


def _with_ids(rows: pl.DataFrame, place: int, stream: int, cards: Sequence[int]) -> pl.DataFrame:
    ids = pl.Series("card_ids", cards, dtype=pl.Int32)
    return rows.with_columns(
        card_id=ids.gather(rows["card"]) if len(cards) else pl.lit(0, pl.Int32),
        stream_id=pl.lit(stream, pl.Int32),
        delivery=pl.lit(place, pl.Int32),
    ).drop("card")


def _without_too_old(rows: pl.DataFrame, receipts: list[Receipt]) -> pl.DataFrame:
    """Leave out rows of hours whose minutes were rolled up and dropped: they would be lost or
    counted twice."""
    closed = store.closed_hours(rows)
    if closed is None:
        return rows
    keyed = rows.with_columns(hour=pl.col("minute") // 60)
    old = keyed.join(closed, on=["card_id", "hour"], how="semi")
    for place, count in old.group_by("delivery").len().iter_rows():
        receipts[place].rejected["too_old"] += count
    return keyed.join(closed, on=["card_id", "hour"], how="anti").drop("hour")


def _note(
    deliveries: Sequence[Delivery],
    receipts: Sequence[Receipt],
    nodes: dict[int, Node],
    now: datetime,
) -> None:
    gaps = [
        Gap(node_id=one.node_id, starts_at=gap.starts_at, ends_at=gap.ends_at, reason=gap.reason)
        for one in deliveries
        for gap in one.page.gaps
    ]
    Gap.objects.bulk_create(gaps, ignore_conflicts=True)
    day = now.astimezone(UTC).date()
    counted: Counter[tuple[int, str]] = Counter()
    for receipt in receipts:
        for reason, rows in receipt.rejected.items():
            counted[(receipt.node_id, reason[:80])] += rows
    if counted:
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {Rejection._meta.db_table} (node_id, day, reason, rows)"
                " VALUES (%s, %s, %s, %s) ON CONFLICT (node_id, day, reason)"
                f" DO UPDATE SET rows = {Rejection._meta.db_table}.rows + EXCLUDED.rows",
                [[node, day, reason, rows] for (node, reason), rows in sorted(counted.items())],
            )
    for one, receipt in zip(deliveries, receipts, strict=True):
        if receipt.clashes:
            claims.note_conflict(Conflict.MINUTE, one.node_id, None, "", now, times=receipt.clashes)


def _move(
    deliveries: Sequence[Delivery],
    receipts: Sequence[Receipt],
    nodes: dict[int, Node],
    states: dict[int, PullState],
    rows: pl.DataFrame,
    now: datetime,
) -> None:
    newest = dict(rows.group_by("delivery").agg(pl.col("minute").max()).iter_rows())
    for place, one in enumerate(deliveries):
        state, page = states[one.node_id], one.page
        state.rows_stored += receipts[place].stored
        if place in newest:
            state.newest_minute = max(state.newest_minute or 0, newest[place])
        if one.backfill:
            continue
        state.cursor = page.next
        state.behind = page.more
        state.last_ok_at = state.last_try_at = now
        state.failures, state.last_error, state.last_error_detail = 0, "", ""
        if one.lease is not None:
            state.leased_until = now + LEASE
        if page.sent_at is not None:
            state.skew_seconds = round((page.sent_at - now).total_seconds(), 3)
        state.due_at = (
            now if page.more else now + timedelta(seconds=nodes[one.node_id].interval_seconds)
        )
    PullState.objects.bulk_update(
        [states[one.node_id] for one in deliveries],
        [
            "cursor",
            "leased_until",
            "behind",
            "rows_stored",
            "last_ok_at",
            "last_try_at",
            "failures",
            "last_error",
            "last_error_detail",
            "skew_seconds",
            "newest_minute",
            "due_at",
        ],
    )
