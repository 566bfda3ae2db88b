"""Budgets with holds, the double-entry ledger, and exchange rates."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from governance.kernel.periods import Period

ZERO = Decimal(0)
UNITS = {"month": _("month"), "quarter": _("quarter"), "year": _("year")}


def amount_field(**options: Any) -> models.DecimalField:
    """A sum of money; posted amounts have the currency's places, parts of them up to eight."""
    return models.DecimalField(max_digits=20, decimal_places=8, **options)


class BudgetQuerySet(models.QuerySet["Budget"]):
    def visible_to(self, viewer: Any) -> BudgetQuerySet:
        """All for those who see all, else those of the viewer's teams and their projects."""
        if "see.all" in viewer.abilities():
            return self
        teams = [
            team
            for team, abilities in getattr(viewer, "team_abilities", {}).items()
            if "budgets.see" in abilities
        ]
        return self.filter(Q(team_id__in=teams) | Q(project__team_id__in=teams))


class Budget(models.Model):
    """What a team, a project or a cost centre may spend in one month, quarter or year.

    `held` and `spent` are kept by the services under a row lock and are the sums of the budget's
    entries (verified by `verify_ledger`). `limit` counts with tax where `with_tax` says so.
    """

    team = models.ForeignKey(
        "accounts.Team", models.PROTECT, null=True, verbose_name=_("team"), related_name="+"
    )
    project = models.ForeignKey(
        "accounts.Project", models.PROTECT, null=True, verbose_name=_("project"), related_name="+"
    )
    cost_centre = models.ForeignKey(
        "accounts.CostCentre",
        models.PROTECT,
        null=True,
        verbose_name=_("cost centre"),
        related_name="+",
    )
    unit = models.CharField(_("period"), max_length=10, choices=list(UNITS.items()))
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("to"))
    timezone = models.CharField(max_length=64)
    currency = models.CharField(_("currency"), max_length=3)
    limit = amount_field(verbose_name=_("limit"))
    with_tax = models.BooleanField(_("includes tax"), default=True)
    held = amount_field(default=ZERO, verbose_name=_("held"))
    spent = amount_field(default=ZERO, verbose_name=_("spent"))

    objects = BudgetQuerySet.as_manager()

    class Meta:
        verbose_name = _("budget")
        ordering = ["-starts_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(team__isnull=False, project=None, cost_centre=None)
                | Q(team=None, project__isnull=False, cost_centre=None)
                | Q(team=None, project=None, cost_centre__isnull=False),
                name="budget_one_owner",
            ),
            models.CheckConstraint(condition=Q(limit__gte=0), name="budget_limit"),
            models.CheckConstraint(condition=Q(held__gte=0), name="budget_held"),
            models.CheckConstraint(
                condition=Q(ends_at__gt=models.F("starts_at")), name="budget_ends"
            ),
            models.UniqueConstraint(
                fields=["team", "project", "cost_centre", "starts_at", "ends_at"],
                nulls_distinct=False,
                name="one_budget_a_period",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner} {self.label}"

    @property
    def owner(self) -> Any:
        return self.project or self.team or self.cost_centre

    @property
    def scope(self) -> str:
        if self.project_id:
            return "project"
        return "team" if self.team_id else "cost_centre"

    @property
    def label(self) -> str:
        """The period in short: 2026-11, 2026 Q4, 2026."""
        first = self.starts_at.astimezone(ZoneInfo(self.timezone))
        if self.unit == "month":
            return f"{first:%Y-%m}"
        return f"{first:%Y} Q{(first.month + 2) // 3}" if self.unit == "quarter" else f"{first:%Y}"

    @property
    def period(self) -> Period:
        return Period(self.starts_at, self.ends_at)

    @property
    def first_day(self) -> date:
        return self.starts_at.astimezone(ZoneInfo(self.timezone)).date()

    def elapsed(self, now: datetime) -> float:
        """The share of the period that is gone, 0..1."""
        gone = (now - self.starts_at) / (self.ends_at - self.starts_at)
        return min(1.0, max(0.0, gone))


class Overdraft(models.Model):
    """Leave to go over a budget by an amount until a time, given by finance with a reason."""

    budget = models.ForeignKey(Budget, models.CASCADE, related_name="overdrafts")
    amount = amount_field()
    reason = models.TextField()
    granted_by = models.CharField(max_length=200)
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = _("overdraft")
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="overdraft_amount"),
            models.CheckConstraint(condition=~Q(reason=""), name="overdraft_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.budget} +{self.amount.normalize():f} {self.budget.currency}"


class Hold(models.Model):
    """Budget reserved for something approved, until its charges use it or it is released."""

    key = models.CharField(max_length=120, unique=True)
    project = models.ForeignKey("accounts.Project", models.PROTECT, related_name="+")
    amount = amount_field()
    currency = models.CharField(max_length=3)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    placed_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("hold")
        constraints = [models.CheckConstraint(condition=Q(amount__gte=0), name="hold_amount")]

    def __str__(self) -> str:
        return self.key


class HoldShare(models.Model):
    """What a hold reserves in one budget, in the budget's currency, and what is left of it."""

    hold = models.ForeignKey(Hold, models.CASCADE, related_name="shares")
    budget = models.ForeignKey(Budget, models.PROTECT, related_name="hold_shares")
    amount = amount_field()
    left = amount_field()

    class Meta:
        verbose_name = _("hold share")
        constraints = [
            models.UniqueConstraint(fields=["hold", "budget"], name="one_share_a_budget"),
            models.CheckConstraint(
                condition=Q(left__gte=0) & Q(left__lte=models.F("amount")), name="share_left"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.hold} {self.left.normalize():f}"


class BudgetEntry(models.Model):
    """One movement of a budget. Never changed (trigger); their sums are `held` and `spent`."""

    KINDS = {
        "placed": _("held"),
        "consumed": _("spent from a hold"),
        "spent": _("spent"),
        "released": _("released"),
    }

    budget = models.ForeignKey(Budget, models.PROTECT, related_name="entries")
    hold = models.ForeignKey(Hold, models.PROTECT, null=True, related_name="entries")
    kind = models.CharField(max_length=10, choices=list(KINDS.items()))
    held = amount_field(default=ZERO)
    spent = amount_field(default=ZERO)
    source_amount = amount_field()
    source_currency = models.CharField(max_length=3)
    rate = models.DecimalField(max_digits=20, decimal_places=10, default=Decimal(1))
    rate_day = models.DateField(null=True)
    rate_source = models.CharField(max_length=120, blank=True)
    reference = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField()
    actor_key = models.CharField(max_length=80)

    class Meta:
        verbose_name = _("budget entry")
        indexes = [models.Index(fields=["budget", "-id"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["placed", "consumed", "spent", "released"]),
                name="budget_entry_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.held.normalize():f} {self.spent.normalize():f}"


class LedgerAccount(models.Model):
    """An account of the ledger; a posting's sign is debit plus, credit minus."""

    KINDS = {
        "asset": _("asset"),
        "liability": _("liability"),
        "expense": _("expense"),
        "income": _("income"),
    }

    code = models.CharField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=list(KINDS.items()))

    class Meta:
        verbose_name = _("ledger account")
        ordering = ["code"]

    def __str__(self) -> str:
        return self.code


class Transaction(models.Model):
    """Postings that balance per currency. Never changed (trigger): a mistake is reversed.

    `lines` says how many postings it has: at commit they must be there and balance, and later
    none can be added (triggers).
    """

    key = models.CharField(max_length=160, unique=True)
    booked_on = models.DateField()
    memo = models.CharField(max_length=300, blank=True)
    lines = models.PositiveSmallIntegerField()
    reverses = models.OneToOneField("self", models.PROTECT, null=True, related_name="reversed_by")
    actor_key = models.CharField(max_length=80)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = _("ledger transaction")
        indexes = [models.Index(fields=["booked_on"])]

    def __str__(self) -> str:
        return self.key


class Posting(models.Model):
    """One side of a transaction: plus is debit, minus is credit. Never changed (trigger)."""

    transaction = models.ForeignKey(Transaction, models.PROTECT, related_name="postings")
    account = models.ForeignKey(LedgerAccount, models.PROTECT, related_name="postings")
    amount = amount_field()
    currency = models.CharField(max_length=3)

    class Meta:
        verbose_name = _("posting")
        constraints = [models.CheckConstraint(condition=~Q(amount=0), name="posting_not_zero")]

    def __str__(self) -> str:
        return f"{self.account_id} {self.amount.normalize():f} {self.currency}"


class FxRate(models.Model):
    """How many units of `quote` one unit of `base` was worth, from a day up to (not) another."""

    base = models.CharField(_("from currency"), max_length=3)
    quote = models.CharField(_("to currency"), max_length=3)
    day = models.DateField(_("from"))
    until = models.DateField(_("up to, not included"))
    rate = models.DecimalField(_("rate"), max_digits=20, decimal_places=10)
    source = models.CharField(_("source"), max_length=120)

    class Meta:
        verbose_name = _("exchange rate")
        ordering = ["-day", "base", "quote"]
        constraints = [
            models.UniqueConstraint(fields=["base", "quote", "day"], name="one_rate_a_day"),
            models.CheckConstraint(condition=Q(rate__gt=0), name="rate_above_zero"),
            models.CheckConstraint(condition=Q(until__gt=models.F("day")), name="rate_until"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.base}/{self.quote} {self.rate.normalize():f}"
