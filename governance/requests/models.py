"""Requests for compute, their stored matches, approval chains, messages and the calendars and
policies that decide about them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from governance.requests.domain.checklist import BUSINESS_TYPES
from governance.requests.domain.known import METHOD_NAMES
from governance.requests.domain.lifecycle import STATES


def _words(table: dict[str, str]) -> list[tuple[str, Any]]:
    """The choices of a column: message ids of the rules, translated when shown."""
    return [(key, _(text)) for key, text in table.items()]


KINDS = {"new": _("New"), "change": _("Change"), "renewal": _("Renewal")}
CHANGES = {
    "extend": _("Extend"),
    "more": _("More cards"),
    "fewer": _("Fewer cards"),
    "other": _("Another card"),
    "end": _("End early"),
}


class RequestQuerySet(models.QuerySet["ComputeRequest"]):
    def visible_to(self, viewer: Any) -> RequestQuerySet:
        """All for those who see all, else those of the viewer's teams; drafts are their own."""
        person = getattr(viewer, "pk", None)
        shown = self.filter(~Q(state="draft") | Q(requester_id=person))
        if "see.all" in viewer.abilities():
            return shown
        teams = [
            team
            for team, abilities in getattr(viewer, "team_abilities", {}).items()
            if "requests.see" in abilities
        ]
        return shown.filter(project__team_id__in=teams)


class ComputeRequest(models.Model):
    """What a person asks for, the package chosen for it, and how far it has come."""

    project = models.ForeignKey(
        "accounts.Project", models.PROTECT, related_name="+", verbose_name=_("project")
    )
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", verbose_name=_("requester")
    )
    title = models.CharField(_("title"), max_length=200)
    state = models.CharField(_("state"), max_length=20, default="draft", choices=_words(STATES))
    state_since = models.DateTimeField()
    kind = models.CharField(max_length=10, default="new", choices=list(KINDS.items()))
    change = models.CharField(max_length=10, blank=True, choices=list(CHANGES.items()))
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="followers")
    business_type = models.CharField(_("purpose"), max_length=20, choices=_words(BUSINESS_TYPES))
    spec = models.JSONField()
    starts_at = models.DateTimeField(_("earliest start"))
    needed_by = models.DateTimeField(_("needed by"), null=True)
    worth = models.CharField(max_length=10, default="deadline")
    reason = models.TextField(_("what it decides"), blank=True)
    answers = models.JSONField(default=dict)
    match = models.ForeignKey("Match", models.PROTECT, null=True, related_name="+")
    package = models.JSONField(null=True)
    amount = models.DecimalField(max_digits=20, decimal_places=2, null=True)
    currency = models.CharField(max_length=3, blank=True)
    ends_at = models.DateTimeField(null=True)
    conditions = models.JSONField(null=True)
    round = models.PositiveSmallIntegerField(default=0)
    policy = models.ForeignKey("ApprovalPolicy", models.PROTECT, null=True, related_name="+")
    waits_for = models.CharField(max_length=40, blank=True)
    due_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    hold_key = models.CharField(max_length=80, blank=True)
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)

    objects = RequestQuerySet.as_manager()

    class Meta:
        verbose_name = _("request")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["state", "-id"], name="request_state"),
            models.Index(fields=["project", "-id"], name="request_project"),
            models.Index(fields=["requester", "-id"], name="request_requester"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=list(STATES)), name="request_state_known"),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "withdrawn", "expired"]) | Q(amount__gte=0),
                name="request_has_amount",
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.shown_title}"

    @property
    def shown_title(self) -> str:
        """Model and method in the reader's language (`title` is for the search)."""
        model, _comma, _method = self.title.partition(", ")
        return f"{model}, {gettext(METHOD_NAMES[self.spec['method']])}"


class Match(models.Model):
    """What the matcher answered: input, result, engine and price versions. Never changed."""

    request = models.ForeignKey(ComputeRequest, models.CASCADE, related_name="matches")
    created_at = models.DateTimeField()
    engine = models.CharField(max_length=20)
    prices_on = models.DateField()
    price_ids = models.JSONField(default=list)
    spec = models.JSONField()
    result = models.JSONField()

    class Meta:
        verbose_name = _("match")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"match {self.pk} of request {self.request_id}"


class ApprovalPolicy(models.Model):
    """A version of the rules of approval; valid from a time until the next version's."""

    version = models.PositiveIntegerField(unique=True)
    valid_from = models.DateTimeField()
    rules = models.JSONField()
    note = models.TextField(blank=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=200)

    class Meta:
        verbose_name = _("approval policy")
        ordering = ["-version"]

    def __str__(self) -> str:
        return f"version {self.version}"


class ApprovalStep(models.Model):
    """A station of a request's chain in one round of submission."""

    request = models.ForeignKey(ComputeRequest, models.CASCADE, related_name="steps")
    round = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    ability = models.CharField(max_length=40)
    count = models.PositiveSmallIntegerField(default=1)
    because = models.JSONField(default=list)
    opened_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    reminded_at = models.DateTimeField(null=True)
    raised_from = models.CharField(max_length=40, blank=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("approval step")
        ordering = ["round", "position"]
        constraints = [
            models.UniqueConstraint(fields=["request", "round", "position"], name="one_step"),
        ]

    def __str__(self) -> str:
        return f"step {self.position} of request {self.request_id}"


class Signature(models.Model):
    """One person's answer to a step: signed, asked back or refused, for themselves or another."""

    step = models.ForeignKey(ApprovalStep, models.CASCADE, related_name="signatures")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    answer = models.CharField(max_length=10)
    at = models.DateTimeField()
    text = models.TextField(blank=True)

    class Meta:
        verbose_name = _("signature")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["step", "person"], name="one_signature_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.answer} by {self.person_id}"


class Message(models.Model):
    """A word between requester and approvers."""

    request = models.ForeignKey(ComputeRequest, models.CASCADE, related_name="messages")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField()
    text = models.TextField()

    class Meta:
        verbose_name = _("message")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text[:60]


class Trial(models.Model):
    """A short run with real requests; its measurements close the last item of the checklist."""

    request = models.ForeignKey(ComputeRequest, models.CASCADE, related_name="trials")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    measured_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    figures = models.JSONField()
    passed = models.BooleanField()
    note = models.TextField(blank=True)

    class Meta:
        verbose_name = _("trial")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"trial of request {self.request_id}"


class Delegation(models.Model):
    """While somebody is away, another signs for them (first and last day inclusive)."""

    giver = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    taker = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("to"))
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("delegation")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=~Q(giver=models.F("taker")), name="delegation_other"),
            models.CheckConstraint(
                condition=Q(ends_on__gte=models.F("starts_on")), name="delegation_ends"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.giver_id} to {self.taker_id}"


class CalendarDay(models.Model):
    """A day that differs from Monday to Friday: a public holiday or a make-up workday."""

    day = models.DateField(unique=True)
    works = models.BooleanField()
    name = models.CharField(max_length=80, blank=True)

    class Meta:
        verbose_name = _("calendar day")
        ordering = ["day"]

    def __str__(self) -> str:
        return f"{self.day} {self.name}"
