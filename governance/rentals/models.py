"""Rentals with their terms and changes, what they were charged, and months that were closed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from governance.catalog.domain.packaged import name_of
from governance.rentals.domain.lifecycle import STATES

ZERO = Decimal(0)


def amount_field(**options: Any) -> models.DecimalField:
    """A sum of money; posted amounts have the currency's places, parts of them up to eight."""
    return models.DecimalField(max_digits=20, decimal_places=8, **options)


class RentalQuerySet(models.QuerySet["Rental"]):
    def visible_to(self, viewer: Any) -> RentalQuerySet:
        """All for those who see all, else those of the viewer's teams."""
        if "see.all" in viewer.abilities():
            return self
        teams = [
            team
            for team, abilities in getattr(viewer, "team_abilities", {}).items()
            if "rentals.see" in abilities
        ]
        return self.filter(project__team_id__in=teams)


class Rental(models.Model):
    """A bought package. Price and rules are frozen in its components when it is opened.

    `charged_from` is where our charges begin for a rental that ran before (null: its start)."""

    ORIGINS = {"bought": _("bought"), "imported": _("imported"), "own": _("own machine")}

    request = models.ForeignKey(
        "requests.ComputeRequest",
        models.PROTECT,
        null=True,
        related_name="+",
        verbose_name=_("request"),
    )
    project = models.ForeignKey(
        "accounts.Project", models.PROTECT, related_name="+", verbose_name=_("project")
    )
    origin = models.CharField(max_length=10, choices=list(ORIGINS.items()), default="bought")
    external_id = models.CharField(max_length=120, blank=True)
    vendor = models.CharField(_("vendor"), max_length=120)
    offer = models.CharField(max_length=120, blank=True)
    region = models.CharField(_("region"), max_length=80, blank=True)
    card_model = models.CharField(_("card model"), max_length=80)
    cards = models.PositiveIntegerField(_("cards"))
    plan_kind = models.CharField(_("plan"), max_length=10)
    currency = models.CharField(_("currency"), max_length=3)
    timezone = models.CharField(max_length=64)
    starts_at = models.DateTimeField(_("start"))
    ends_at = models.DateTimeField(_("end"), null=True)
    state = models.CharField(
        _("state"), max_length=12, choices=[(key, _(text)) for key, text in STATES.items()]
    )
    auto_renew = models.BooleanField(default=False)
    refund = models.JSONField(null=True)
    hold_key = models.CharField(max_length=120, blank=True)
    paid_before = amount_field(default=ZERO)
    charged_from = models.DateTimeField(null=True)
    charged_until = models.DateTimeField(null=True)
    next_charge_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=200)

    objects = RentalQuerySet.as_manager()

    class Meta:
        verbose_name = _("rental")
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["next_charge_at"], name="rental_due"),
            models.Index(fields=["project", "-id"], name="rental_project"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(ends_at__gte=models.F("starts_at")),
                name="rental_ends",
            ),
            models.CheckConstraint(condition=Q(state__in=list(STATES)), name="rental_state_known"),
            models.UniqueConstraint(
                fields=["vendor", "external_id"],
                condition=~Q(external_id=""),
                name="one_rental_an_external_id",
            ),
        ]

    def __str__(self) -> str:
        return f"R{self.pk} {self.cards} × {self.card_name}"

    @property
    def card_name(self) -> str:
        """What people call the card model."""
        return name_of(self.card_model)


class Component(models.Model):
    """A priced part of a rental: the cards, a disk, bandwidth, an address, a fee."""

    KINDS = {
        "cards": _("cards"),
        "disk": _("disk"),
        "bandwidth": _("public bandwidth"),
        "traffic": _("traffic"),
        "address": _("public address"),
        "image": _("image"),
        "support": _("support"),
        "fee": _("one-off fee"),
    }

    rental = models.ForeignKey(Rental, models.CASCADE, related_name="components")
    code = models.CharField(max_length=20)
    kind = models.CharField(max_length=10, choices=list(KINDS.items()))
    plan = models.JSONField()
    quantity = models.PositiveIntegerField(default=1)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    stopped_price = models.DecimalField(max_digits=20, decimal_places=10, null=True)

    class Meta:
        verbose_name = _("component")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["rental", "code"], name="one_component_a_code"),
        ]

    def __str__(self) -> str:
        return f"{self.rental_id} {self.code}"


class RentalChange(models.Model):
    """Something that happened to a rental after it was opened. Never changed (trigger)."""

    KINDS = {
        "reprice": _("new price"),
        "upgrade": _("upgrade"),
        "downgrade": _("downgrade"),
        "extend": _("extended"),
        "renew": _("renewed"),
        "end_early": _("ended early"),
        "stop": _("stopped"),
        "start": _("started again"),
    }

    rental = models.ForeignKey(Rental, models.CASCADE, related_name="changes")
    component = models.ForeignKey(Component, models.CASCADE, null=True, related_name="changes")
    kind = models.CharField(max_length=10, choices=list(KINDS.items()))
    at = models.DateTimeField()
    known_at = models.DateTimeField()
    price = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    quantity = models.PositiveIntegerField(null=True)
    end = models.DateTimeField(null=True)
    rule = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    made_by = models.CharField(max_length=200)

    class Meta:
        verbose_name = _("rental change")
        ordering = ["known_at", "pk"]

    def __str__(self) -> str:
        return f"{self.rental_id} {self.kind} {self.at:%F}"


class Charge(models.Model):
    """A priced stretch of a component. Never changed (trigger); a mistake gets a credit.

    `period_start_local` is the wall-clock start with its offset. `booked_on` lies in the month
    that was open when the charge was posted; `correction` marks one whose own month was closed.
    """

    rental = models.ForeignKey(Rental, models.PROTECT, related_name="charges")
    component = models.ForeignKey(Component, models.PROTECT, related_name="charges")
    kind = models.CharField(max_length=32)
    period_start_local = models.CharField(max_length=32)
    sequence = models.PositiveSmallIntegerField()
    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    quantity = models.DecimalField(max_digits=24, decimal_places=8, null=True)
    unit = models.CharField(max_length=10, blank=True)
    unit_price = models.DecimalField(max_digits=30, decimal_places=20, null=True)
    net = amount_field()
    tax = amount_field(default=ZERO)
    tax_rate = models.DecimalField(max_digits=9, decimal_places=6, default=ZERO)
    tax_inclusive = models.BooleanField(default=False)
    currency = models.CharField(max_length=3)
    formula = models.CharField(max_length=200)
    due_at = models.DateTimeField()
    booked_on = models.DateField()
    correction = models.BooleanField(default=False)
    posted_at = models.DateTimeField()

    class Meta:
        verbose_name = _("charge")
        ordering = ["due_at", "pk"]
        indexes = [
            models.Index(fields=["rental", "due_at"], name="charge_rental_due"),
            models.Index(fields=["booked_on"], name="charge_booked"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["rental", "kind", "period_start_local", "sequence"], name="one_charge"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.period_start_local} {self.net.normalize():f} {self.currency}"

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax


class CostDay(models.Model):
    """What a rental cost on a local day: billed when it was charged, amortised when it was used.

    Kept by the posting of charges in the same transaction; reports read this, never the charges.
    """

    rental = models.ForeignKey(Rental, models.CASCADE, related_name="cost_days")
    day = models.DateField()
    currency = models.CharField(max_length=3)
    billed = amount_field(default=ZERO)
    billed_tax = amount_field(default=ZERO)
    amortised = amount_field(default=ZERO)
    amortised_tax = amount_field(default=ZERO)
    charges = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("cost of a day")
        constraints = [
            models.UniqueConstraint(fields=["rental", "day", "currency"], name="one_cost_day"),
        ]
        indexes = [models.Index(fields=["day"], name="cost_day_day")]

    def __str__(self) -> str:
        return f"{self.rental_id} {self.day} {self.billed.normalize():f}"


class Month(models.Model):
    """A month that was closed: its report, frozen, with the hash of what went into it."""

    month = models.DateField(unique=True)
    closed_at = models.DateTimeField()
    closed_by = models.CharField(max_length=200)
    input_hash = models.CharField(max_length=64)
    report = models.TextField()

    class Meta:
        verbose_name = _("closed month")
        ordering = ["-month"]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"
