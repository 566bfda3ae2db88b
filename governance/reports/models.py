"""Nightly judgements, the flags and recommendations they open, saved views of reports."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from governance.reports.domain.invoices import STATES as LINE_STATES
from governance.reports.domain.judgement import ACTIONABLE
from governance.reports.domain.judgement import KINDS as KIND_NAMES

KINDS = {kind: _(name) for kind, name in KIND_NAMES.items()}


def amount_field(**options: Any) -> models.DecimalField:
    """A sum of money."""
    return models.DecimalField(max_digits=20, decimal_places=8, **options)


class OfRental(models.QuerySet[Any]):
    """Rows about a rental are seen by whoever sees the rental's project."""

    def visible_to(self, viewer: Any) -> OfRental:
        """All for those who see all, else those of the viewer's teams."""
        if "see.all" in viewer.abilities():
            return self
        teams = [
            team
            for team, abilities in getattr(viewer, "team_abilities", {}).items()
            if "rentals.see" in abilities
        ]
        return self.filter(rental__project__team_id__in=teams)


class Judgement(models.Model):
    """What a night said of a rental, with all that went in: replayed, it says the same again.

    `evidence`, `settings` and `findings` are the rules' own records as JSON; the other columns are
    read by lists. Never changed (trigger).
    """

    rental = models.ForeignKey("rentals.Rental", models.PROTECT, related_name="judgements")
    day = models.DateField()
    window_days = models.PositiveSmallIntegerField()
    version = models.PositiveSmallIntegerField()
    settings = models.JSONField()
    evidence = models.JSONField()
    findings = models.JSONField()
    diagnosis = models.JSONField(null=True)
    plain_rule = models.BooleanField(null=True)
    share = models.FloatField(null=True)
    coverage = models.FloatField(null=True)
    source = models.CharField(max_length=30, blank=True)
    fidelity = models.CharField(max_length=12, default="unknown")
    row = models.PositiveSmallIntegerField(null=True)
    cause = models.CharField(max_length=20, blank=True)
    outcome = models.CharField(max_length=12)
    what_if = models.JSONField(null=True)
    saving = amount_field(null=True)
    cost = amount_field(null=True)
    parts = models.JSONField(default=dict)
    currency = models.CharField(max_length=3)
    simulated = models.BooleanField(default=False)
    made_at = models.DateTimeField()

    objects = OfRental.as_manager()

    class Meta:
        verbose_name = _("judgement")
        ordering = ["-day", "rental"]
        constraints = [
            models.UniqueConstraint(fields=["rental", "day"], name="one_judgement_a_night"),
        ]
        indexes = [models.Index(fields=["day"], name="judgement_day")]

    def __str__(self) -> str:
        return f"R{self.rental_id} {self.day}"


class Flag(models.Model):
    """How a kind of flag stands for a rental: nights in a row, open since, resting until."""

    STATES = {
        "none": _("not raised"),
        "watching": _("watching"),
        "open": _("open"),
        "snoozed": _("snoozed"),
        "cooling": _("decided"),
    }

    rental = models.ForeignKey("rentals.Rental", models.PROTECT, related_name="flags")
    kind = models.CharField(max_length=24, choices=list(KINDS.items()))
    state = models.CharField(max_length=10, choices=list(STATES.items()), default="none")
    streak = models.PositiveIntegerField(default=0)
    since = models.DateField(null=True)
    until = models.DateField(null=True)
    judged_on = models.DateField()

    objects = OfRental.as_manager()

    class Meta:
        verbose_name = _("flag")
        constraints = [
            models.UniqueConstraint(fields=["rental", "kind"], name="one_flag_a_kind"),
            models.CheckConstraint(condition=Q(kind__in=list(KINDS)), name="flag_kind_known"),
        ]
        indexes = [models.Index(fields=["state"], name="flag_state")]

    def __str__(self) -> str:
        return f"R{self.rental_id} {self.kind} {self.state}"


class Recommendation(models.Model):
    """What to do about a flag. The rental's team answers first; then a manager decides."""

    STATES = {
        "asked": _("the team is asked"),
        "answered": _("answered"),
        "accepted": _("accepted"),
        "dismissed": _("dismissed"),
        "snoozed": _("snoozed"),
        "closed": _("no longer holds"),
    }
    OPEN = ("asked", "answered", "snoozed")
    ANSWERS = {
        "justify": _("it has to stay as it is"),
        "fix": _("we repair it"),
        "agree": _("we agree"),
    }

    rental = models.ForeignKey("rentals.Rental", models.PROTECT, related_name="recommendations")
    kind = models.CharField(max_length=24, choices=[(kind, KINDS[kind]) for kind in ACTIONABLE])
    judgement = models.ForeignKey(Judgement, models.PROTECT, related_name="recommendations")
    latest = models.ForeignKey(Judgement, models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=list(STATES.items()), default="asked")
    opened_on = models.DateField()
    answer_by = models.DateField()
    answer = models.CharField(max_length=10, blank=True, choices=list(ANSWERS.items()))
    answer_text = models.TextField(blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    answered_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    until = models.DateField(null=True)
    saving = amount_field(null=True)
    currency = models.CharField(max_length=3)
    confidence = models.CharField(max_length=10)
    request_id = models.BigIntegerField(null=True)
    cost_before = amount_field(null=True)
    realised = amount_field(null=True)
    measured_on = models.DateField(null=True)

    objects = OfRental.as_manager()

    class Meta:
        verbose_name = _("recommendation")
        ordering = ["-opened_on", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["rental", "kind"],
                condition=Q(state__in=["asked", "answered", "snoozed"]),
                name="one_open_recommendation",
            ),
            models.CheckConstraint(
                condition=~Q(state="dismissed") | ~Q(reason=""), name="dismissed_with_reason"
            ),
            models.CheckConstraint(
                condition=~Q(state="snoozed") | Q(until__isnull=False), name="snoozed_until"
            ),
            models.CheckConstraint(
                condition=Q(saving=None) | Q(saving__gte=0), name="saving_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"F-{self.pk:04d}" if self.pk else "F-new"


class SavedView(models.Model):
    """A report with its filters under a name, for its owner; perhaps sent by mail."""

    RHYTHMS = {"": _("not sent"), "weekly": _("Mondays"), "monthly": _("first of the month")}

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(_("name"), max_length=120)
    report = models.CharField(max_length=40)
    query = models.CharField(max_length=1000, blank=True)
    rhythm = models.CharField(
        _("send"), max_length=10, blank=True, choices=list(RHYTHMS.items()), default=""
    )
    sent_on = models.DateField(null=True)

    class Meta:
        verbose_name = _("saved view")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="one_view_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Invoice(models.Model):
    """A vendor's invoice of a month as it came; the same key with other content is refused."""

    vendor = models.CharField(_("vendor"), max_length=120)
    external_id = models.CharField(_("number"), max_length=120)
    version = models.PositiveSmallIntegerField(_("version"), default=1)
    month = models.DateField(_("month"))
    currency = models.CharField(_("currency"), max_length=3)
    digest = models.CharField(max_length=64)
    columns = models.JSONField(default=dict)
    imported_at = models.DateTimeField()
    imported_by = models.CharField(max_length=200)

    class Meta:
        verbose_name = _("invoice")
        ordering = ["-month", "vendor", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["vendor", "external_id", "version"], name="one_invoice_a_version"
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="invoice_version"),
        ]

    def __str__(self) -> str:
        return f"{self.vendor} {self.external_id}"


class InvoiceLine(models.Model):
    """One rental of an invoice held to our charges; a difference is booked by a person."""

    invoice = models.ForeignKey(Invoice, models.PROTECT, related_name="lines")
    rental = models.CharField(_("rental"), max_length=120)
    theirs = amount_field(null=True)
    ours = amount_field(null=True)
    state = models.CharField(
        max_length=14, choices=[(key, _(text)) for key, text in LINE_STATES.items()]
    )
    description = models.CharField(max_length=300, blank=True)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        verbose_name = _("invoice line")
        ordering = ["invoice", "rental"]
        constraints = [
            models.UniqueConstraint(fields=["invoice", "rental"], name="one_line_a_rental"),
            models.CheckConstraint(
                condition=Q(settled_at=None) | ~Q(reason=""), name="settled_with_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.invoice_id} {self.rental} {self.state}"

    @property
    def difference(self) -> Any:
        """Theirs minus ours."""
        return (self.theirs or 0) - (self.ours or 0)

    @property
    def is_open(self) -> bool:
        """A difference nobody has booked yet."""
        return self.state != "matched" and self.settled_at is None
