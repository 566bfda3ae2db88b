"""Posting charges: whatever fell due, once, however late and in whatever batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

import structlog
from django.db import connection, transaction
from django.db.models import Count, F, Q, Sum

from governance.budgets import services as budgets
from governance.kernel.errors import DomainError
from governance.kernel.money import Money, round_exact
from governance.kernel.periods import Period
from governance.kernel.policy import SYSTEM, Actor, require
from governance.plumbing import audit, locks
from governance.plumbing.copy import copy_csv, csv_chunks
from governance.rentals.domain.amortise import by_day
from governance.rentals.domain.charges import Line, due_lines, next_due
from governance.rentals.domain.lifecycle import LIFECYCLE, RUNNING
from governance.rentals.domain.posting import Entry, entries
from governance.rentals.domain.terms import Tax, Terms
from governance.rentals.models import ZERO, Charge, Component, CostDay, Rental
from governance.rentals.queries.months import first_open_day
from governance.rentals.queries.terms import rental_terms
from governance.requests import services as requests
from governance.requests.queries import running_changes

BOOKING = "rentals-booking"
"""Shared by whoever books charges, held alone by whoever closes a month."""
log = structlog.get_logger("governance.rentals")


@dataclass
class ChargeRun:
    """What one run did: rentals looked at, charges made, and (rental id, reason) left undone."""

    rentals: int = 0
    charges: int = 0
    failed: list[tuple[int, str]] = field(default_factory=list)


def charge_rentals(
    *,
    actor: Actor,
    until: datetime,
    now: datetime,
    rental_ids: Sequence[int] | None = None,
    workers: int = 1,
) -> ChargeRun:
    """Post every charge and credit that fell due until the time, rental by rental.

    Running it twice, late, or for a year at once gives the same charges: each rental remembers
    how far it is charged, and the database refuses a second row with the same key. A rental that
    cannot be charged (no exchange rate, busy) is left as it is, named, and tried again next time.
    Several workers (threads with a connection each) overlap our work with the database's.
    """
    require(actor, "rentals.charge")
    due = Rental.objects.filter(next_charge_at__lte=until)
    if rental_ids is not None:
        due = due.filter(pk__in=rental_ids)
    found = list(due.order_by("pk").values_list("pk", "project_id", "hold_key"))
    if workers == 1:
        return _charge_all(actor, found, until, now)
    run = ChargeRun()
    with ThreadPoolExecutor(workers) as pool:
        for part in pool.map(
            lambda place: _charge_apart(actor, found[place::workers], until, now), range(workers)
        ):
            run.rentals += part.rentals
            run.charges += part.charges
            run.failed += part.failed
    return run


def _charge_apart(
    actor: Actor, found: Sequence[tuple[int, int, str]], until: datetime, now: datetime
) -> ChargeRun:
    try:
        return _charge_all(actor, found, until, now)
    finally:
        connection.close()


def _charge_all(
    actor: Actor, found: Sequence[tuple[int, int, str]], until: datetime, now: datetime
) -> ChargeRun:
    run = ChargeRun()
    for rental_id, project_id, hold_key in found:
        run.rentals += 1
        try:
            run.charges += _charge(actor, rental_id, project_id, hold_key, until, now)
        except DomainError as error:
            log.warning("rental_not_charged", rental=rental_id, reason=str(error))
            run.failed.append((rental_id, str(error)))
    return run


def advance_states(*, actor: Actor, now: datetime) -> int:
    """Begin what should have begun and end what is over, giving back what is left of holds."""
    require(actor, "rentals.charge")
    moved = 0
    over = Q(closed_at=None, next_charge_at=None, ends_at__lte=now) & ~Q(state="cancelled")
    started = Q(state="planned", starts_at__lte=now)
    for pk in Rental.objects.filter(over | started).order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            head = Rental.objects.get(pk=pk)
            budgets.lock_budgets(project_id=head.project_id, hold_key=head.hold_key)
            rental = locks.lock_one(Rental.objects.all(), pk)
            moved += _advance(actor, rental, now)
    return moved


def _advance(actor: Actor, rental: Rental, now: datetime) -> int:
    before = rental.state
    if rental.state == "planned" and rental.starts_at <= now:
        rental.state = LIFECYCLE.next(rental.state, "begin")
    charged = rental.next_charge_at is None
    if charged and rental.ends_at is not None and rental.ends_at <= now:
        if rental.state in RUNNING:
            rental.state = LIFECYCLE.next(rental.state, "expire")
        rental.closed_at = now
        _finish(actor, rental, now)
    rental.save(update_fields=["state", "closed_at"])
    audit.record(
        actor=actor, act="rentals.advance", thing=rental,
        before={"state": before}, after={"state": rental.state},
    )  # fmt: skip
    return 1


def _finish(actor: Actor, rental: Rental, now: datetime) -> None:
    """The last rental of a request completes it and its changes; without one, the rest of the
    hold goes back."""
    if rental.request_id is not None:
        others = Rental.objects.filter(request_id=rental.request_id, closed_at=None)
        if not others.exclude(pk=rental.pk).exists():
            for pk in [rental.request_id, *running_changes(rental.request_id)]:
                requests.mark_completed(actor=SYSTEM, request_id=pk, now=now)
    elif rental.hold_key:
        budgets.release_hold(actor=actor, key=rental.hold_key, now=now)


def _charge(
    actor: Actor, rental_id: int, project_id: int, hold_key: str, until: datetime, now: datetime
) -> int:
    with transaction.atomic():
        locks.hold_name(BOOKING, shared=True)
        budgets.lock_budgets(project_id=project_id, hold_key=hold_key)
        rental = locks.lock_one(Rental.objects.select_related("project"), rental_id)
        if rental.next_charge_at is None or rental.next_charge_at > until:
            return 0
        made = _post(actor, rental, until, now)
        rental.charged_until = until
        rental.save(update_fields=["charged_until", "next_charge_at"])
        return made


def _post(actor: Actor, rental: Rental, until: datetime, now: datetime) -> int:
    """Post what is due of a locked rental (whose budgets are locked too)."""
    parts = rental_terms(rental)
    lines: list[tuple[str, Terms, Line]] = [
        (component.code, terms, line)
        for component, terms in parts
        for line in due_lines(terms, after=rental.charged_until, until=until)
    ]
    following = [next_due(terms, until) for _, terms in parts]
    rental.next_charge_at = min((moment for moment in following if moment), default=None)
    if not lines:
        return 0
    components = {component.code: component for component, _ in parts}
    starts = {line.period.start for _, _, line in lines}
    made = entries(lines, seen=_seen(rental, starts), quoted=_quoted(rental))
    open_day = first_open_day()
    rows = [_charge_row(rental, components[e.code], e, open_day, now) for e in made]
    _store(rows)
    accounts = _accounts(rental)
    budgets.post_many(
        actor=actor,
        drafts=[_draft(accounts, rental, row, e) for row, e in zip(rows, made, strict=True)],
        now=now,
    )
    _roll(rental, rows, made, open_day)
    budgets.record_spending(
        actor=actor,
        project_id=rental.project_id,
        items=[
            budgets.Spending(
                Money(row.net, row.currency),
                Money(row.net + row.tax, row.currency),
                entry.line.period,
                row.booked_on,
            )
            for row, entry in zip(rows, made, strict=True)
        ],
        hold_key=rental.hold_key or None,
        reference=f"rental:{rental.pk}",
        now=now,
    )
    return len(rows)


def _seen(rental: Rental, starts: set[datetime]) -> dict[tuple[str, str], int]:
    rows = rental.charges.filter(period_start__in=starts).values("kind", "period_start_local")
    return {
        (row["kind"], row["period_start_local"]): row["n"] for row in rows.annotate(n=Count("pk"))
    }


def _quoted(rental: Rental) -> dict[tuple[str, Tax], Decimal]:
    rows = (
        rental.charges.filter(tax_rate__gt=0)
        .values("component__code", "tax_rate", "tax_inclusive")
        .annotate(net_sum=Sum("net"), gross_sum=Sum(F("net") + F("tax")))
    )
    return {
        (row["component__code"], Tax(row["tax_rate"].normalize(), row["tax_inclusive"])): (
            row["gross_sum"] if row["tax_inclusive"] else row["net_sum"]
        )
        for row in rows
    }


class _Row(NamedTuple):
    """A charge as it is stored; the names are the columns. (A model instance costs ten times as
    much, and a year of a thousand rentals makes 365,000.)"""

    rental_id: int
    component_id: int
    kind: str
    period_start_local: str
    sequence: int
    period_start: datetime
    period_end: datetime
    quantity: Decimal | None
    unit: str
    unit_price: Decimal | None
    net: Decimal
    tax: Decimal
    tax_rate: Decimal
    tax_inclusive: bool
    currency: str
    formula: str
    due_at: datetime
    booked_on: date
    correction: bool
    posted_at: datetime


def _charge_row(
    rental: Rental, component: Component, entry: Entry, open_day: date | None, now: datetime
) -> _Row:
    line = entry.line
    closed = open_day is not None and entry.booked_on < open_day
    return _Row(
        rental_id=rental.pk,
        component_id=component.pk,
        kind=entry.kind,
        period_start_local=entry.start_local,
        sequence=entry.sequence,
        period_start=line.period.start,
        period_end=line.period.end,
        quantity=None if line.quantity is None else round_exact(line.quantity, 8),
        unit=line.unit or "",
        unit_price=line.unit_price,
        net=entry.net,
        tax=entry.tax,
        tax_rate=line.tax.rate if line.tax else ZERO,
        tax_inclusive=bool(line.tax and line.tax.inclusive),
        currency=rental.currency,
        formula=line.formula[:200],
        due_at=line.due,
        booked_on=open_day if closed and open_day else entry.booked_on,
        correction=closed,
        posted_at=now,
    )


def _store(rows: Sequence[_Row]) -> None:
    with connection.cursor() as cursor:
        copy_csv(cursor, Charge._meta.db_table, _Row._fields, csv_chunks(rows))


def _accounts(rental: Rental) -> tuple[budgets.AccountRef, ...]:
    """Where a rental's cost, its tax, and what is owed for it are booked."""
    project, vendor = rental.project, rental.vendor
    return (
        budgets.AccountRef(f"expense:project:{project.pk}", "expense", project.name),
        budgets.AccountRef(f"tax:{vendor}"[:80], "asset", vendor),
        budgets.AccountRef(f"payable:{vendor}"[:80], "liability", vendor),
    )


def _draft(
    accounts: tuple[budgets.AccountRef, ...], rental: Rental, row: _Row, entry: Entry
) -> budgets.Draft:
    cost, tax, owed = accounts
    place = f"{rental.pk}:{entry.kind}:{entry.start_local}:{entry.sequence}"
    return budgets.Draft(
        key=f"charge:{place}",
        booked_on=row.booked_on,
        memo=f"R{rental.pk} {entry.kind} {entry.start_local}",
        lines=(
            (cost, Money(entry.net, row.currency)),
            (tax, Money(entry.tax, row.currency)),
            (owed, Money(-entry.gross, row.currency)),
        ),
    )


def _roll(
    rental: Rental, rows: Sequence[_Row], made: Sequence[Entry], open_day: date | None
) -> None:
    """Adds the charges to the daily roll-up: billed on the booked day, amortised over the period.

    Days of closed months are not touched: their part falls on the first open day.
    """
    zone = ZoneInfo(rental.timezone)
    days: dict[date, list[Decimal]] = defaultdict(lambda: [ZERO, ZERO, ZERO, ZERO, ZERO])
    for row, entry in zip(rows, made, strict=True):
        billed = days[row.booked_on]
        billed[0] += row.net
        billed[1] += row.tax
        billed[4] += 1
        for place, amount in ((2, row.net), (3, row.tax)):
            if not amount:
                continue
            spread = _spread(rental, row, entry, Money(amount, row.currency), zone, place)
            for day, part in spread.items():
                days[day if open_day is None else max(day, open_day)][place] += part
    _upsert(rental, days)


def _spread(
    rental: Rental, row: _Row, entry: Entry, money: Money, zone: ZoneInfo, place: int
) -> dict[date, Decimal]:
    """The amount by day. A credit by a refund rule takes back the unused days in full and writes
    the rest, which the vendor keeps, off on the day of the end."""
    period = entry.line.period
    if entry.line.kind != "credit" or entry.line.quantity is not None:
        return by_day(money, period, zone)
    unused: dict[date, Decimal] = defaultdict(Decimal)
    column = "net" if place == 2 else "tax"
    paid = rental.charges.filter(
        component_id=row.component_id, period_end__gt=period.start, due_at__lt=entry.line.due
    )
    for charge in paid:
        whole = Period(charge.period_start, charge.period_end)
        amount = Money(getattr(charge, column), charge.currency)
        for day, part in by_day(amount, whole, zone).items():
            if day >= period.start.astimezone(zone).date():
                unused[day] -= part
    kept = money.amount - sum(unused.values(), ZERO)
    unused[period.start.astimezone(zone).date()] += kept
    return unused


def _upsert(rental: Rental, days: dict[date, list[Decimal]]) -> None:
    table = CostDay._meta.db_table
    names = ("billed", "billed_tax", "amortised", "amortised_tax", "charges")
    adds = ", ".join(f"{name} = {table}.{name} + EXCLUDED.{name}" for name in names)
    ordered = sorted(days.items())
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (rental_id, currency, day, {', '.join(names)})"  # noqa: S608
            " SELECT %s, %s, * FROM unnest(%s::date[], %s::numeric[], %s::numeric[],"
            " %s::numeric[], %s::numeric[], %s::int[])"
            f" ON CONFLICT (rental_id, day, currency) DO UPDATE SET {adds}",
            [
                rental.pk,
                rental.currency,
                [day for day, _ in ordered],
                *([sums[i] for _, sums in ordered] for i in range(4)),
                [int(sums[4]) for _, sums in ordered],
            ],
        )
