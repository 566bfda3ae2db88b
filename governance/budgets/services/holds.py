"""Holds: reserve a budget when something is approved, spend it by charges, give back the rest.

Every function locks the budgets it touches in primary-key order, before anything above them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction

from governance.budgets import queries
from governance.budgets.domain.allotment import allot, take
from governance.budgets.domain.thresholds import reached
from governance.budgets.models import ZERO, Budget, BudgetEntry, Hold, HoldShare
from governance.kernel.errors import Invalid, Missing, Refused
from governance.kernel.money import Money
from governance.kernel.periods import Period
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit, locks, outbox

SCOPES = ("project", "team", "cost_centre")
SAME = queries.Rate(Decimal(1), None, "")


@dataclass(frozen=True, slots=True)
class Spending:
    """A posted cost and the stretch it pays for; a credit is negative. `day` picks the FX rate."""

    net: Money
    gross: Money
    period: Period
    day: date


def place_hold(
    *, actor: Actor, project_id: int, amount: Money, period: Period, key: str, now: datetime
) -> int:
    """Reserve the amount in every budget of the project, its team and its cost centre.

    Part of an approval: the approving act has checked the actor's right. Divided over budget
    periods by time. Refused (409) with limit, held, spent and asked where one budget cannot carry
    its part, or no budget covers the time. The same key and payload again returns the same hold.
    """
    with transaction.atomic():
        budgets = _lock(queries.covering(project_id, period))
        known = Hold.objects.filter(key=key).first()
        if known is not None:
            return _same_hold(known, project_id, amount, period)
        if not budgets:
            raise Refused(Reason("no_budget", N_("No budget covers this project at that time.")))
        hold = Hold.objects.create(
            key=key,
            project_id=project_id,
            amount=amount.amount,
            currency=amount.currency,
            starts_at=period.start,
            ends_at=period.end,
            placed_at=now,
        )
        day = queries.local_day(now)
        for budget, part in _parts(budgets, amount, period).items():
            rate = queries.fx_rate(part.currency, budget.currency, day)
            share = rate.convert(part, budget.currency).amount
            _require_free(budget, share, now)
            HoldShare.objects.create(hold=hold, budget=budget, amount=share, left=share)
            _move(budget, held=share, at=now)
            _entry(budget, hold, "placed", part, rate, actor, now, held=share)
        audit.record(
            actor=actor, act="budgets.hold", thing=hold,
            after={"amount": str(amount), "key": key}, project_id=project_id,
        )  # fmt: skip
        return hold.pk


def lock_budgets(*, project_id: int, hold_key: str = "") -> None:
    """Lock the budgets that costs of the project may touch, before its rental is locked."""
    owned = queries.owned_by(project_id)
    if hold_key:
        owned |= Budget.objects.filter(hold_shares__hold__key=hold_key)
    _lock(owned)


def release_hold(*, actor: Actor, key: str, now: datetime) -> None:
    """Give back what is left of a hold; a released or unknown hold stays as it is."""
    with transaction.atomic():
        shares = HoldShare.objects.filter(hold__key=key)
        budgets = {b.pk: b for b in _lock(Budget.objects.filter(hold_shares__hold__key=key))}
        hold = Hold.objects.filter(key=key, released_at=None).first()
        if hold is None:
            return
        for share in shares.filter(left__gt=0).order_by("budget_id"):
            budget, left = budgets[share.budget_id], share.left
            share.left = ZERO
            share.save(update_fields=["left"])
            _move(budget, held=-left, at=now)
            money = Money(left, budget.currency)
            _entry(budget, hold, "released", money, SAME, actor, now, held=-left)
        hold.released_at = now
        hold.save(update_fields=["released_at"])
        audit.record(actor=actor, act="budgets.release", thing=hold, after={"key": key})


def consume_hold(
    *, actor: Actor, key: str, amount: Money, period: Period, reference: str, now: datetime
) -> None:
    """Spend from a hold a cost that carries no tax; see `record_spending`."""
    hold = queries.hold_by_key(key)
    if hold is None:
        raise Missing()
    record_spending(
        actor=actor,
        project_id=hold.project_id,
        items=[Spending(amount, amount, period, queries.local_day(now))],
        hold_key=key,
        reference=reference,
        now=now,
    )


def record_spending(
    *,
    actor: Actor,
    project_id: int,
    items: Sequence[Spending],
    hold_key: str | None,
    reference: str,
    now: datetime,
) -> None:
    """Count posted costs against the project's budgets, using up the hold as far as it reaches.

    A cost is real whether or not a budget has room: it is always counted, and marks reached are
    told. It falls on budget periods by the time it pays for. Budgets count with or without tax,
    as each says. A sum of credits lowers what is spent and does not reserve anew.
    """
    if not items:
        return
    today = queries.local_day(now)
    whole = Period(min(i.period.start for i in items), max(i.period.end for i in items))
    with transaction.atomic():
        covering = queries.covering(project_id, whole)
        if hold_key is not None:
            covering |= Budget.objects.filter(hold_shares__hold__key=hold_key)
        budgets = _lock(covering)
        if not budgets:
            return
        hold = Hold.objects.filter(key=hold_key, released_at=None).first() if hold_key else None
        sums: dict[tuple[int, str, date], Decimal] = defaultdict(Decimal)
        by_id = {budget.pk: budget for budget in budgets}
        for item in items:
            for budget, part in _parts(budgets, item.gross, item.period, item.net).items():
                foreign = part.currency != budget.currency
                sums[budget.pk, part.currency, item.day if foreign else today] += part.amount
        spent: dict[int, Decimal] = defaultdict(Decimal)
        for (budget_id, currency, day), amount in sorted(sums.items()):
            budget = by_id[budget_id]
            rate = queries.fx_rate(currency, budget.currency, day)
            part = Money(amount, currency)
            own = rate.convert(part, budget.currency).amount
            spent[budget_id] += own
            _entry(budget, hold, "spent", part, rate, actor, now, spent=own, reference=reference)
        used = {} if hold is None else _use_hold(hold, by_id, spent, actor, reference, now)
        for budget_id in sorted({*spent, *used}):
            _move(
                by_id[budget_id],
                held=-used.get(budget_id, ZERO),
                spent=spent.get(budget_id, ZERO),
                at=now,
            )


def _use_hold(
    hold: Hold,
    budgets: dict[int, Budget],
    spent: dict[int, Decimal],
    actor: Actor,
    reference: str,
    now: datetime,
) -> dict[int, Decimal]:
    """Takes what was spent from the hold's shares; returns how much of each budget's."""
    shares = {share.budget_id: share for share in hold.shares.order_by("budget_id")}
    used: dict[int, Decimal] = defaultdict(Decimal)
    for budget_id, amount in sorted(spent.items()):
        budget = budgets[budget_id]
        left = {
            i: share.left
            for i, share in shares.items()
            if budgets[i].scope == budget.scope and budgets[i].currency == budget.currency
        }
        for i, part in take(amount, left, budget_id).items():
            shares[i].left -= part
            used[i] += part
    for i, part in used.items():
        shares[i].save(update_fields=["left"])
        money = Money(part, budgets[i].currency)
        _entry(
            budgets[i], hold, "consumed", money, SAME, actor, now, held=-part, reference=reference
        )
    return used


def _same_hold(known: Hold, project_id: int, amount: Money, period: Period) -> int:
    same = (known.project_id, known.amount, known.currency, known.starts_at, known.ends_at) == (
        project_id, amount.amount, amount.currency, period.start, period.end,
    )  # fmt: skip
    if not same:
        raise Invalid(Reason("hold_key_reused", N_("This key was used for another hold.")), "key")
    return known.pk


def _lock(budgets: object) -> list[Budget]:
    ids = budgets.values_list("pk", flat=True)  # type: ignore[attr-defined]
    return locks.lock(Budget.objects.select_related("team", "project", "cost_centre"), ids)


def _parts(
    budgets: Sequence[Budget], gross: Money, period: Period, net: Money | None = None
) -> dict[Budget, Money]:
    """The amount's part in each budget: within each kind of owner the whole, divided by time."""
    parts: dict[Budget, Money] = {}
    for scope in SCOPES:
        mine = {budget.pk: budget for budget in budgets if budget.scope == scope}
        periods = {pk: budget.period for pk, budget in mine.items()}
        with_tax = allot(gross, period, periods)
        without = with_tax if net is None else allot(net, period, periods)
        for pk, budget in mine.items():
            part = (with_tax if budget.with_tax else without).get(pk)
            if part:
                parts[budget] = part
    return parts


def _require_free(budget: Budget, asked: Decimal, now: datetime) -> None:
    position = queries.position(budget, now)
    if asked <= position.free:
        return
    raise Refused(
        Reason(
            "budget",
            N_(
                "The budget %(budget)s has not enough left: limit %(limit)s, held %(held)s, "
                "spent %(spent)s, free %(free)s, asked %(asked)s %(currency)s."
            ),
            {
                "budget": str(budget),
                "limit": f"{position.limit.normalize():f}",
                "held": f"{position.held.normalize():f}",
                "spent": f"{position.spent.normalize():f}",
                "free": f"{position.free.normalize():f}",
                "asked": f"{asked.normalize():f}",
                "currency": budget.currency,
            },
        )
    )


def _move(budget: Budget, *, held: Decimal = ZERO, spent: Decimal = ZERO, at: datetime) -> None:
    before = reached(budget.held + budget.spent, budget.limit)
    budget.held += held
    budget.spent += spent
    budget.save(update_fields=["held", "spent"])
    for mark in reached(budget.held + budget.spent, budget.limit):
        if mark not in before:
            outbox.emit(
                kind="budgets.threshold",
                payload={
                    "budget_id": budget.pk,
                    "mark": mark,
                    "limit": str(budget.limit),
                    "held": str(budget.held),
                    "spent": str(budget.spent),
                    "currency": budget.currency,
                    "at": at.isoformat(),
                },
                key=f"budget:{budget.pk}:{budget.limit.normalize():f}:{mark}",
            )


def _entry(
    budget: Budget,
    hold: Hold | None,
    kind: str,
    source: Money,
    rate: queries.Rate,
    actor: Actor,
    now: datetime,
    *,
    held: Decimal = ZERO,
    spent: Decimal = ZERO,
    reference: str = "",
) -> None:
    BudgetEntry.objects.create(
        budget=budget,
        hold=hold,
        kind=kind,
        held=held,
        spent=spent,
        source_amount=source.amount,
        source_currency=source.currency,
        rate=rate.rate,
        rate_day=rate.day,
        rate_source=rate.source,
        reference=reference or (hold.key if hold else ""),
        at=now,
        actor_key=actor.actor_key,
    )
