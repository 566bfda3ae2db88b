"""Reads of budgets, exchange rates and the ledger; each starts from what the viewer may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from governance.accounts import queries as accounts
from governance.budgets.models import (
    ZERO,
    Budget,
    BudgetEntry,
    FxRate,
    Hold,
    HoldShare,
    LedgerAccount,
    Overdraft,
    Posting,
    Transaction,
)
from governance.kernel.errors import Missing, Refused
from governance.kernel.money import Money, currency_places, round_exact
from governance.kernel.periods import Period
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason


@dataclass(frozen=True, slots=True)
class Position:
    """Where a budget stands, in its currency. `limit` contains overdrafts now in force."""

    limit: Decimal
    held: Decimal
    spent: Decimal
    overdraft: Decimal

    @property
    def free(self) -> Decimal:
        return self.limit - self.held - self.spent

    @property
    def committed(self) -> Decimal:
        return self.held + self.spent

    def __iter__(self) -> Any:
        return iter((self.limit, self.held, self.spent, self.free))


@dataclass(frozen=True, slots=True)
class Rate:
    """An exchange rate with its day and source; 1 between equal currencies."""

    rate: Decimal
    day: date | None
    source: str

    def convert(self, money: Money, currency: str) -> Money:
        """The amount in the other currency, at that currency's places."""
        if money.currency == currency:
            return money
        amount = round_exact(money.amount * self.rate, currency_places(currency))
        return Money(amount, currency)


def visible_to(viewer: Actor) -> QuerySet[Budget]:
    """Budgets that the viewer may see, with their owners."""
    return Budget.objects.visible_to(viewer).select_related("team", "project", "cost_centre")


def budget_for(viewer: Actor, budget_id: int) -> Budget:
    """One budget, or Missing (404)."""
    found = visible_to(viewer).filter(pk=budget_id).first()
    if found is None:
        raise Missing()
    return found


def by_id(budget_id: int) -> Budget:
    """For the platform's own acts (no viewer); Missing (404) where there is none."""
    rows = Budget.objects.select_related("team", "project__team", "cost_centre")
    found = rows.filter(pk=budget_id).first()
    if found is None:
        raise Missing()
    return found


def listed(viewer: Actor, when: str, owner: str, at: datetime) -> QuerySet[Budget]:
    """Budgets of now, or (`when`) all, past or ahead; of one kind of owner, or of all."""
    rows = visible_to(viewer).order_by("-starts_at", "pk")
    if when == "past":
        rows = rows.filter(ends_at__lte=at)
    elif when == "ahead":
        rows = rows.filter(starts_at__gt=at)
    elif when != "all":
        rows = rows.filter(starts_at__lte=at, ends_at__gt=at)
    if owner in ("team", "project", "cost_centre"):
        rows = rows.filter(**{f"{owner}__isnull": False})
    return rows


def owners(viewer: Actor) -> list[tuple[Any, list[tuple[str, str]]]]:
    """Whom a budget may belong to, grouped for a form: "team:3" and a name."""
    teams = accounts.teams_visible_to(viewer).order_by("name")
    projects = accounts.projects_visible_to(viewer).filter(closed_at=None).order_by("name")
    centres = {
        project.cost_centre_id: str(project.cost_centre)
        for project in projects.select_related("cost_centre")
        if project.cost_centre_id
    }
    return [
        (_("Team"), [(f"team:{team.pk}", str(team)) for team in teams]),
        (_("Project"), [(f"project:{project.pk}", str(project)) for project in projects]),
        (_("Cost centre"), [(f"cost_centre:{pk}", name) for pk, name in sorted(centres.items())]),
    ]


def overdrafts_of(budget: Budget, at: datetime) -> QuerySet[Overdraft]:
    """Overdrafts in force, the one that ends first first."""
    return budget.overdrafts.filter(granted_at__lte=at, expires_at__gt=at).order_by("expires_at")


def position(budget: Budget, at: datetime | None = None) -> Position:
    """Limit (with overdrafts in force at the time), held and spent, and through them what is free.

    Without a time, overdrafts count while they have not been seen to expire by the budget's end.
    """
    granted = overdraft(budget, budget.ends_at if at is None else at)
    return Position(budget.limit + granted, budget.held, budget.spent, granted)


def overdraft(budget: Budget, at: datetime) -> Decimal:
    """The sum of overdrafts in force at the time."""
    in_force = Q(granted_at__lte=at, expires_at__gt=at)
    return budget.overdrafts.filter(in_force).aggregate(total=Coalesce(Sum("amount"), ZERO))[
        "total"
    ]


def positions(budgets: Iterable[Budget], at: datetime) -> list[tuple[Budget, Position]]:
    """Positions of many budgets in one query."""
    rows = list(budgets)
    granted = dict(
        Budget.objects.filter(
            pk__in=[budget.pk for budget in rows],
            overdrafts__granted_at__lte=at,
            overdrafts__expires_at__gt=at,
        )
        .annotate(total=Sum("overdrafts__amount"))
        .values_list("pk", "total")
    )
    return [
        (
            budget,
            Position(
                budget.limit + granted.get(budget.pk, ZERO),
                budget.held,
                budget.spent,
                granted.get(budget.pk, ZERO),
            ),
        )
        for budget in rows
    ]


def owned_by(project_id: int) -> QuerySet[Budget]:
    """Budgets of the project, its team and its cost centre, of any time."""
    project = accounts.project(project_id)
    owners = Q(project_id=project.pk) | Q(team_id=project.team_id)
    if project.cost_centre_id:
        owners |= Q(cost_centre_id=project.cost_centre_id)
    return Budget.objects.filter(owners)


def covering(project_id: int, period: Period) -> QuerySet[Budget]:
    """Budgets of the project, its team and its cost centre that overlap the period."""
    return owned_by(project_id).filter(starts_at__lt=period.end, ends_at__gt=period.start)


def budgets_for_project(project_id: int, at: datetime) -> list[Budget]:
    """Budgets that a cost of the project at the time counts against: project, team, cost centre."""
    found = owned_by(project_id).filter(starts_at__lte=at, ends_at__gt=at)
    return list(found.select_related("team", "project", "cost_centre").order_by("pk"))


def budgets_of_projects(
    projects: Iterable[Any], now: datetime
) -> dict[int, list[tuple[Budget, Position]]]:
    """Budgets not over by `now` of many projects, by project id, with two queries."""
    known = list(projects)
    owners = (
        Q(project__in=[p.pk for p in known])
        | Q(team__in=[p.team_id for p in known])
        | Q(cost_centre__in=[p.cost_centre_id for p in known if p.cost_centre_id])
    )
    rows = Budget.objects.filter(owners, ends_at__gt=now).order_by("pk")
    found = positions(rows.select_related("team", "project", "cost_centre"), now)
    return {
        p.pk: [
            (budget, position)
            for budget, position in found
            if budget.project_id == p.pk
            or budget.team_id == p.team_id
            or (p.cost_centre_id and budget.cost_centre_id == p.cost_centre_id)
        ]
        for p in known
    }


def fx_rate(base: str, quote: str, day: date) -> Rate:
    """The rate on a day, also from the opposite pair; Refused (409) where none is on record."""
    if base == quote:
        return Rate(Decimal(1), None, "")
    valid = FxRate.objects.filter(day__lte=day, until__gt=day).order_by("-day")
    found = valid.filter(base=base, quote=quote).first()
    if found is not None:
        return Rate(found.rate, found.day, found.source)
    opposite = valid.filter(base=quote, quote=base).first()
    if opposite is not None:
        return Rate(round_exact(1 / opposite.rate, 10), opposite.day, opposite.source)
    raise Refused(
        Reason(
            "no_rate",
            N_("There is no exchange rate from %(base)s to %(quote)s for %(day)s; add one first."),
            {"base": base, "quote": quote, "day": day.isoformat()},
        )
    )


def fx_rates() -> QuerySet[FxRate]:
    """All rates, newest first; they are no secret."""
    return FxRate.objects.all()


def hold_by_key(key: str) -> Hold | None:
    """The hold with this key."""
    return Hold.objects.filter(key=key).first()


def hold_left(key: str) -> dict[str, Decimal]:
    """What is left of a hold, as the largest sum over one kind of owner, per currency."""
    rows = HoldShare.objects.filter(hold__key=key).select_related("budget")
    sums: dict[tuple[str, str], Decimal] = {}
    for share in rows:
        place = (share.budget.scope, share.budget.currency)
        sums[place] = sums.get(place, ZERO) + share.left
    left: dict[str, Decimal] = {}
    for (_scope, currency), amount in sums.items():
        left[currency] = max(left.get(currency, ZERO), amount)
    return left


def holds_of(budget: Budget) -> QuerySet[HoldShare]:
    """Open holds on the budget, oldest first."""
    shares = budget.hold_shares.filter(left__gt=0, hold__released_at=None)
    return shares.select_related("hold", "hold__project").order_by("hold__placed_at")


def entries_of(budget: Budget) -> QuerySet[BudgetEntry]:
    """Movements of the budget, newest first."""
    return budget.entries.select_related("hold").order_by("-pk")


def accounts_with_balances(viewer: Actor) -> list[Any]:
    """Ledger accounts with their balance per currency."""
    require(viewer, "ledger.see")
    return list(
        LedgerAccount.objects.values("code", "name", "kind", currency=F("postings__currency"))
        .annotate(balance=Sum("postings__amount"))
        .order_by("code", "currency")
    )


def transactions(viewer: Actor) -> QuerySet[Transaction]:
    """Ledger transactions, newest first."""
    require(viewer, "ledger.see")
    return Transaction.objects.prefetch_related("postings__account").order_by("-pk")


def local_day(moment: datetime) -> date:
    """The organisation's date at an instant."""
    return moment.astimezone(ZoneInfo(accounts.organisation().timezone)).date()


def faults() -> list[str]:
    """What does not add up in ledger and budgets; empty when all holds."""
    found = [
        f"transaction {row['transaction__key']} does not balance: {row['total']} {row['currency']}"
        for row in Posting.objects.values("transaction__key", "currency")
        .annotate(total=Sum("amount"))
        .exclude(total=0)
        .order_by("transaction__key")
    ]
    short = Transaction.objects.annotate(n=Count("postings")).filter(n__lt=2)
    keys = short.values_list("key", flat=True)
    found += [f"transaction {key} has less than two postings" for key in keys]
    for row in Budget.objects.order_by("pk").values(
        "pk",
        "held",
        "spent",
        held_sum=Coalesce(Sum("entries__held"), ZERO),
        spent_sum=Coalesce(Sum("entries__spent"), ZERO),
    ):
        sums = (("held", row["held"], row["held_sum"]), ("spent", row["spent"], row["spent_sum"]))
        found += [
            f"budget {row['pk']}: {name} is {kept}, its entries say {summed}"
            for name, kept, summed in sums
            if kept != summed
        ]
    shares = Budget.objects.order_by("pk").values(
        "pk", "held", left=Coalesce(Sum("hold_shares__left"), ZERO)
    )
    found += [
        f"budget {share['pk']}: held is {share['held']}, its holds say {share['left']}"
        for share in shares
        if share["left"] != share["held"]
    ]
    return found


def posted_by_prefix(prefix: str) -> dict[str, Decimal]:
    """The balance per currency of all accounts whose code begins with the prefix."""
    rows = (
        Posting.objects.filter(account__code__startswith=prefix)
        .values("currency")
        .annotate(total=Sum("amount"))
    )
    return {row["currency"]: row["total"] for row in rows}
