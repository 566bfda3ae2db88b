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
from itertools import accumulate
from uuid import UUID

import polars as pl
from django.db import Error, connection, transaction

from governance.kernel.errors import Busy, DomainError, Refused
from governance.kernel.reasons import N_, Reason
from governance.telemetry.domain.merge import fold
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
        rows, lost = fold(_with_ids(deliveries, streams, cards))
        for place, count in lost.items():
            receipts[place].clashes += count
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
    known = _known_streams(keys)
    missing = sorted(set(keys) - set(known))
    if missing:
        Stream.objects.bulk_create(
            [Stream(node_id=n, agent=a, epoch=e, first_seen_at=now) for n, a, e in missing],
            ignore_conflicts=True,
        )
        known = _known_streams(keys)
    return [known[key] for key in keys]


def _known_streams(keys: Sequence[tuple[int, str, str]]) -> dict[tuple[int, str, str], int]:
    found = Stream.objects.filter(
        node_id__in={key[0] for key in keys}, epoch__in={key[2] for key in keys}
    )
    return {
        (node, agent, epoch): pk
        for pk, node, agent, epoch in found.values_list("pk", "node_id", "agent", "epoch")
    }


def _with_ids(
    deliveries: Sequence[Delivery], streams: Sequence[int], cards: Sequence[Sequence[int]]
) -> pl.DataFrame:
    """All rows with the database's ids, and in `delivery` the place of their delivery."""
    heights = [one.page.rows.height for one in deliveries]
    places = [place for place, height in enumerate(heights) for _ in range(height)]
    bases = list(accumulate((len(ids) for ids in cards), initial=0))
    rows = pl.concat([one.page.rows for one in deliveries])
    known = pl.Series("ids", [pk for ids in cards for pk in ids] or [0], dtype=pl.Int32)
    place = pl.Series("delivery", places, dtype=pl.Int32)
    base = pl.Series("base", bases, dtype=pl.Int32).gather(place)
    return rows.with_columns(
        card_id=known.gather(rows["card"] + base),
        stream_id=pl.Series("s", streams, dtype=pl.Int32).gather(place),
        delivery=place,
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
    _save([states[one.node_id] for one in deliveries])


_MOVED = {
    "cursor": "text",
    "leased_until": "timestamptz",
    "behind": "bool",
    "rows_stored": "bigint",
    "last_ok_at": "timestamptz",
    "last_try_at": "timestamptz",
    "failures": "int",
    "last_error": "text",
    "last_error_detail": "text",
    "skew_seconds": "float8",
    "newest_minute": "int",
    "due_at": "timestamptz",
}


def _save(states: Sequence[PullState]) -> None:
    arrays = ", ".join(f"%s::{kind}[]" for kind in ("bigint", *_MOVED.values()))
    sets = ", ".join(f"{name} = v.{name}" for name in _MOVED)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE telemetry_pullstate p SET {sets}"
            f" FROM unnest({arrays}) AS v(node_id, {', '.join(_MOVED)})"
            " WHERE p.node_id = v.node_id",
            [[getattr(state, name) for state in states] for name in ("node_id", *_MOVED)],
        )
