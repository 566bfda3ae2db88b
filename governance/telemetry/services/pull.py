"""Pulling pages from nodes.

A worker claims nodes that are due (SKIP LOCKED), each with a lease that ends by itself, and talks
to them all at once. Fetching and checking one page overlaps with storing another; pages of
several nodes are stored in one transaction. A claim counts as a failure until a page is stored,
so that a page which kills its worker is tried ever more rarely.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import uuid
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import TypeVar

import httpx
import structlog
from django.db import connection, connections, transaction
from django.db.models import Q

from governance.kernel.errors import Busy
from governance.telemetry.domain.page import Page, PageFault, check_pages, decode
from governance.telemetry.models import Node, PullState
from governance.telemetry.models.nodes import PULL
from governance.telemetry.services.ingest import LEASE, Delivery, Receipt, ingest_pages
from governance.telemetry.services.nodes import tokens_of

log = structlog.get_logger("governance.telemetry")
T = TypeVar("T")

CLAIM = 64
"""Nodes that one task pulls at the same time."""

PAGE_ROWS = 5_000
PAGES_A_TURN = 400
SECONDS_A_TURN = 60.0
"""After so many pages or seconds a node that is behind lets others go first."""

READ_TOGETHER = 2**19
"""Bytes of small pages that are checked in one go."""

ROWS_TOGETHER = 20_000
ROWS_AHEAD = 40_000
"""Rows stored in one transaction, and rows checked and waiting before reading pauses."""

UNREAD = "bandwidth_histogram,bandwidth_active_histogram,processes"
"""Columns that are not stored; not sending them saves most of the reading."""

MAX_WIRE = 16 * 2**20
MAX_BODY = 64 * 2**20
LONGEST_WAIT = 300.0
CIRCUIT_OPEN = 6
"""Failures in a row after which a node is shown as given up on for now."""

TIMEOUT = httpx.Timeout(20.0, connect=5.0)


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities for nodes with TLS, read once a process: it takes longer than a pull."""
    return ssl.create_default_context()


class PullFault(Exception):
    """A pull that brought no page; `code` is shown, the cursor stays."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


@dataclass(frozen=True)
class Body:
    """An answer as it came."""

    data: bytes
    gzipped: bool


@dataclass(frozen=True)
class Target:
    """What a pull needs to know of a node."""

    node_id: int
    address: str
    tokens: tuple[str, ...]
    cursor: str


def wait_after(failures: int, interval: float) -> float:
    """Seconds until the next try after so many failures in a row, with jitter."""
    wait = min(interval * 2 ** min(max(failures - 1, 0), 16), max(LONGEST_WAIT, interval))
    return float(wait * random.uniform(0.8, 1.2))  # noqa: S311


def claim_due(*, now: datetime, limit: int = CLAIM) -> tuple[list[int], uuid.UUID]:
    """Claim up to `limit` nodes that are due; returns their ids and the lease."""
    lease = uuid.uuid4()
    with transaction.atomic():
        states = list(
            PullState.objects.select_related("node")
            .filter(Q(leased_until=None) | Q(leased_until__lt=now), due_at__lte=now)
            .filter(node__mode=PULL, node__revoked_at=None)
            .order_by("due_at")
            .select_for_update(skip_locked=True, of=("self",), no_key=True)[:limit]
        )
        for state in states:
            state.failures += 1
            wait = wait_after(state.failures, state.node.interval_seconds)
            state.due_at = now + timedelta(seconds=wait)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE telemetry_pullstate p SET lease = %s, leased_until = %s, last_try_at = %s,"
                " failures = v.failures, due_at = v.due_at"
                " FROM unnest(%s::bigint[], %s::int[], %s::timestamptz[])"
                " AS v(node_id, failures, due_at) WHERE p.node_id = v.node_id",
                [
                    lease,
                    now + LEASE,
                    now,
                    [state.node_id for state in states],
                    [state.failures for state in states],
                    [state.due_at for state in states],
                ],
            )
    return [state.node_id for state in states], lease


def pull_nodes(
    *, node_ids: list[int], lease: uuid.UUID, clock: Callable[[], datetime]
) -> dict[int, str]:
    """Pull the claimed nodes until each is caught up or its turn is over. Returns what happened
    by node: "ok" or the code of the fault."""
    store = ThreadPoolExecutor(1, thread_name_prefix="store")
    parse = ThreadPoolExecutor(1, thread_name_prefix="parse")
    try:
        return asyncio.run(_Turn(lease, clock, store, parse).run(node_ids))
    finally:
        store.submit(connections.close_all).result()
        store.shutdown()
        parse.shutdown()


class _Turn:
    """One task's turn: a coroutine per node, one that stores."""

    def __init__(
        self,
        lease: uuid.UUID,
        clock: Callable[[], datetime],
        store: ThreadPoolExecutor,
        parse: ThreadPoolExecutor,
    ) -> None:
        self.lease, self.clock, self.store, self.parse = lease, clock, store, parse
        self.waiting: asyncio.Queue[tuple[Delivery, asyncio.Future[Receipt]]] = asyncio.Queue()
        self.queued = 0
        self.unread: asyncio.Queue[tuple[Body, asyncio.Future[Page]]] = asyncio.Queue()

    async def run(self, node_ids: list[int]) -> dict[int, str]:
        targets = await self._in(self.store, lambda: _targets(node_ids, self.lease, self.clock()))
        helpers = [asyncio.create_task(work) for work in (self._store_all(), self._read_all())]
        async with httpx.AsyncClient(
            timeout=TIMEOUT, follow_redirects=False, trust_env=False, verify=_trusted()
        ) as client:
            ends = await asyncio.gather(*(self._node(client, target) for target in targets))
        for helper in helpers:
            helper.cancel()
        await self._in(self.store, lambda: _release(node_ids, self.lease))
        return {target.node_id: end for target, end in zip(targets, ends, strict=True)}

    async def _in(self, pool: ThreadPoolExecutor, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, function)

    async def _node(self, client: httpx.AsyncClient, target: Target) -> str:
        try:
            await self._pages(client, target)
        except (PullFault, PageFault) as fault:
            code, detail = fault.code, fault.detail
        except httpx.HTTPError as error:
            code, detail = "unreachable", f"{type(error).__name__}: {error}"
        except Busy as error:
            return error.reason.code
        except Exception as error:
            log.exception("pull_failed", node=target.node_id)
            code, detail = "not_stored", f"{type(error).__name__}: {error}"
        else:
            return "ok"
        await self._in(self.store, lambda: _note_failure(target.node_id, self.lease, code, detail))
        return code

    async def _pages(self, client: httpx.AsyncClient, target: Target) -> None:
        loop = asyncio.get_running_loop()
        ends, cursor = loop.time() + SECONDS_A_TURN, target.cursor
        page = await self._page(client, target, cursor)
        for _ in range(PAGES_A_TURN):
            if page.more and page.next == cursor:
                raise PullFault("stuck", "more rows are promised behind the same cursor")
            stored: asyncio.Future[Receipt] = loop.create_future()
            self.queued += page.rows.height
            self.waiting.put_nowait(
                (Delivery(target.node_id, page, after=cursor, lease=self.lease), stored)
            )
            go_on = page.more and loop.time() < ends
            following = (
                asyncio.create_task(self._page(client, target, page.next)) if go_on else None
            )
            try:
                receipt = await stored
            except BaseException:
                if following:
                    following.cancel()
                raise
            if receipt.error is not None:
                if following:
                    following.cancel()
                raise receipt.error
            if following is None:
                return
            cursor, page = page.next, await following

    async def _page(self, client: httpx.AsyncClient, target: Target, cursor: str) -> Page:
        body = await _fetch(client, target, cursor)
        page: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
        self.unread.put_nowait((body, page))
        return await page

    async def _read_all(self) -> None:
        while True:
            batch = [await self.unread.get()]
            while self.queued > ROWS_AHEAD:
                await asyncio.sleep(0.005)
            size = len(batch[0][0].data)
            while not self.unread.empty() and size < READ_TOGETHER:
                batch.append(self.unread.get_nowait())
                size += len(batch[-1][0].data)
            minute = int(self.clock().timestamp()) // 60
            act = partial(read_bodies, [body for body, _ in batch], minute)
            for (_, page), found in zip(batch, await self._in(self.parse, act), strict=True):
                if page.cancelled():
                    continue
                if isinstance(found, Page):
                    page.set_result(found)
                else:
                    page.set_exception(found)

    async def _store_all(self) -> None:
        while True:
            batch = [await self.waiting.get()]
            rows = batch[0][0].page.rows.height
            while not self.waiting.empty() and rows < ROWS_TOGETHER:
                batch.append(self.waiting.get_nowait())
                rows += batch[-1][0].page.rows.height
            deliveries = [delivery for delivery, _ in batch]
            act = partial(ingest_pages, deliveries, now=self.clock())
            try:
                receipts = await self._in(self.store, act)
            except Exception as error:
                for _, stored in batch:
                    if not stored.cancelled():
                        stored.set_exception(error)
                continue
            finally:
                self.queued -= rows
            for (_, stored), receipt in zip(batch, receipts, strict=True):
                if not stored.cancelled():
                    stored.set_result(receipt)


async def _fetch(client: httpx.AsyncClient, target: Target, cursor: str) -> Body:
    """The body of one page as it came, and whether it is gzipped."""
    fault = PullFault("no_token", "the node has no token")
    for token in target.tokens:
        for after in dict.fromkeys((cursor, "")):
            try:
                return await _get(client, target.address, token, after)
            except PullFault as error:
                fault = error
                if error.code != "http_400":
                    break
        if fault.code != "http_401":
            break
    raise fault


async def _get(client: httpx.AsyncClient, address: str, token: str, after: str) -> Body:
    query: dict[str, str | int] = {"limit": PAGE_ROWS, "without": UNREAD}
    if after:
        query["after"] = after
    headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "gzip"}
    async with client.stream(
        "GET", f"{address}/v1/samples", params=query, headers=headers
    ) as response:
        if response.is_redirect:
            raise PullFault("redirect", "the node answers with a redirect; that is refused")
        if response.status_code != 200:
            raise PullFault(
                f"http_{response.status_code}", f"the node answers {response.status_code}"
            )
        chunks, size = [], 0
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > MAX_WIRE:
                raise PullFault("too_large", f"a page of more than {MAX_WIRE} bytes")
            chunks.append(chunk)
        return Body(b"".join(chunks), response.headers.get("Content-Encoding", "") == "gzip")


def read_bodies(bodies: Sequence[Body], minute: int) -> list[Page | Exception]:
    """Pages or faults, one for each body."""
    answers: list[object] = []
    for body in bodies:
        try:
            answers.append(decode(unpack(body.data) if body.gzipped else body.data))
        except PageFault as fault:
            answers.append(fault)
    sound = [answer for answer in answers if not isinstance(answer, PageFault)]
    pages = iter(check_pages(sound, now_minute=minute))
    return [answer if isinstance(answer, PageFault) else next(pages) for answer in answers]


def unpack(body: bytes) -> bytes:
    """Gunzip a body of limited size; PageFault where it is broken, cut short or too large."""
    unzip = zlib.decompressobj(wbits=31)
    try:
        data = unzip.decompress(body, MAX_BODY)
    except zlib.error as error:
        raise PageFault("not_gzip", str(error)) from None
    if unzip.unconsumed_tail:
        raise PageFault("too_large", f"a page of more than {MAX_BODY} bytes unpacked")
    if not unzip.eof:
        raise PageFault("cut_short", "the page ends before its end")
    return data


def _targets(node_ids: list[int], lease: uuid.UUID, now: datetime) -> list[Target]:
    nodes = Node.objects.filter(
        pk__in=node_ids, revoked_at=None, pull__lease=lease, pull__leased_until__gt=now
    ).select_related("pull")
    return [
        Target(node.pk, node.address, tuple(tokens_of(node, now)), node.pull.cursor)
        for node in nodes
    ]


def _release(node_ids: list[int], lease: uuid.UUID) -> None:
    PullState.objects.filter(pk__in=node_ids, lease=lease).update(lease=None, leased_until=None)


def _note_failure(node_id: int, lease: uuid.UUID, code: str, detail: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE telemetry_pullstate SET last_error = %s, last_error_detail = %s,"
            " failures = greatest(failures, 1) WHERE node_id = %s AND lease = %s",
            [code[:60], detail[:300], node_id, lease],
        )
