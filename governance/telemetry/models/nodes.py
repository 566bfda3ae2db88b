"""Machines with cards, how they are reached, and what went wrong on the way."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

PULL, PUSH, FILE = "pull", "push", "file"


class NodeQuerySet(models.QuerySet["Node"]):
    def visible_to(self, viewer: object) -> NodeQuerySet:
        """All nodes for those who see all, else those whose cards the viewer's teams hold."""
        abilities = getattr(viewer, "abilities", None)
        if abilities is None:
            return self.none()
        if "see.all" in abilities():
            return self
        return self.filter(cards__in=Card.objects.visible_to(viewer)).distinct()


class Node(models.Model):
    """A machine with cards, enrolled by an operator (or named by an imported file).

    Its token is not kept: it is computed from the installation's secret and `token_nonce`, and
    shown once. After a rotation the one before is good until `previous_until`.
    """

    name = models.CharField(_("name"), max_length=120, unique=True)
    mode = models.CharField(
        _("way"),
        max_length=4,
        choices=[(PULL, _("pull")), (PUSH, _("push")), (FILE, _("files"))],
        default=PULL,
    )
    address = models.CharField(_("address"), max_length=300, blank=True)
    interval_seconds = models.PositiveIntegerField(_("interval in seconds"), default=60)
    silent_after_minutes = models.PositiveIntegerField(_("silent after minutes"), default=10)
    labels = models.JSONField(_("labels"), default=dict)
    token_nonce = models.CharField(max_length=43)
    token_issued_at = models.DateTimeField()
    previous_nonce = models.CharField(max_length=43, blank=True)
    previous_until = models.DateTimeField(null=True)
    enrolled_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    agent = models.CharField(max_length=200, blank=True)
    host_name = models.CharField(max_length=200, blank=True)
    version = models.CharField(max_length=200, blank=True)
    health = models.JSONField(default=dict)
    simulated = models.BooleanField(default=False)

    objects = NodeQuerySet.as_manager()

    class Meta:
        verbose_name = _("node")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(mode__in=[PULL, PUSH, FILE]), name="node_mode"),
            models.CheckConstraint(
                condition=~Q(mode=PULL) | ~Q(address=""), name="node_pull_needs_address"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PullState(models.Model):
    """Where the server stands with a node. The cursor moves only in the transaction that stored
    the rows before it; the lease keeps a node to one worker and ends by itself."""

    node = models.OneToOneField(
        Node, models.CASCADE, primary_key=True, related_name="pull", db_index=False
    )
    cursor = models.CharField(max_length=200, blank=True)
    due_at = models.DateTimeField(db_index=True)
    lease = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    last_try_at = models.DateTimeField(null=True)
    last_ok_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=60, blank=True)
    last_error_detail = models.CharField(max_length=300, blank=True)
    newest_minute = models.IntegerField(null=True)
    skew_seconds = models.FloatField(null=True)
    rows_stored = models.BigIntegerField(default=0)
    behind = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("pull state")

    def __str__(self) -> str:
        return f"{self.node_id} {self.cursor}"


class Stream(models.Model):
    """One life of one agent's spool: sequence numbers rise within it."""

    id = models.AutoField(primary_key=True)
    node = models.ForeignKey(Node, models.CASCADE, related_name="streams")
    agent = models.CharField(max_length=200)
    epoch = models.CharField(max_length=200)
    first_seen_at = models.DateTimeField()

    class Meta:
        verbose_name = _("stream")
        constraints = [
            models.UniqueConstraint(fields=["node", "agent", "epoch"], name="one_stream")
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.epoch}"


class CardQuerySet(models.QuerySet["Card"]):
    def visible_to(self, viewer: object) -> CardQuerySet:
        """All cards for those who see all, else those that the viewer's teams hold or held."""
        abilities = getattr(viewer, "abilities", None)
        if abilities is None:
            return self.none()
        if "see.all" in abilities():
            return self
        teams = list(viewer.team_abilities)  # type: ignore[attr-defined]
        return self.filter(holdings__project__team_id__in=teams).distinct()


class Card(models.Model):
    """One metered unit: a whole card or a MIG instance of one. Identity is (vendor, uuid)."""

    STATES = [
        ("ok", _("working")),
        ("lost", _("lost")),
        ("absent", _("absent")),
    ]
    id = models.AutoField(primary_key=True)
    node = models.ForeignKey(Node, models.PROTECT, related_name="cards", verbose_name=_("node"))
    vendor = models.CharField(_("maker"), max_length=20)
    uuid = models.CharField(max_length=200)
    parent = models.ForeignKey("self", models.PROTECT, null=True, related_name="parts")
    model_text = models.CharField(_("model as the driver says it"), max_length=200, blank=True)
    model_slug = models.CharField(_("card model"), max_length=80, blank=True, db_index=True)
    index = models.IntegerField(null=True)
    state = models.CharField(_("state"), max_length=10, choices=STATES, default="ok")
    state_since = models.DateTimeField(null=True)
    simulated = models.BooleanField(default=False)
    labels = models.JSONField(default=dict)
    first_minute = models.IntegerField(null=True)
    last_minute = models.IntegerField(null=True)

    objects = CardQuerySet.as_manager()

    class Meta:
        verbose_name = _("card")
        ordering = ["node__name", "index", "uuid"]
        constraints = [models.UniqueConstraint(fields=["vendor", "uuid"], name="one_card")]

    def __str__(self) -> str:
        place = "" if self.index is None else f" {self.index}"
        return f"{self.node.name}{place}"


class Gap(models.Model):
    """A stretch for which an agent says that rows are missing, and why."""

    node = models.ForeignKey(Node, models.CASCADE, related_name="gaps")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=200)

    class Meta:
        verbose_name = _("gap")
        constraints = [
            models.UniqueConstraint(
                fields=["node", "starts_at", "ends_at", "reason"], name="one_gap"
            )
        ]

    def __str__(self) -> str:
        return f"{self.starts_at:%F %T} {self.reason}"


class Conflict(models.Model):
    """Two claimants of one card or one agent: shown, never merged."""

    CARD, AGENT, MINUTE = "card", "agent", "minute"
    KINDS = [
        (CARD, _("two nodes report one card")),
        (AGENT, _("one agent's identity from two nodes or two agents on one node")),
        (MINUTE, _("two rows for one minute; the one with more samples stayed")),
    ]
    kind = models.CharField(max_length=10, choices=KINDS)
    node = models.ForeignKey(Node, models.CASCADE, related_name="conflicts")
    card = models.ForeignKey(Card, models.CASCADE, null=True, related_name="conflicts")
    other = models.CharField(max_length=200, blank=True)
    times = models.BigIntegerField(default=0)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    class Meta:
        verbose_name = _("conflict")
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "node", "card", "other"],
                name="one_conflict",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.other}"


class Rejection(models.Model):
    """How many rows of a node were left out on a day, by reason."""

    node = models.ForeignKey(Node, models.CASCADE, related_name="rejections")
    day = models.DateField()
    reason = models.CharField(max_length=80)
    rows = models.BigIntegerField()

    class Meta:
        verbose_name = _("rejected rows")
        constraints = [
            models.UniqueConstraint(fields=["node", "day", "reason"], name="one_rejection")
        ]

    def __str__(self) -> str:
        return f"{self.reason}: {self.rows}"


class Alert(models.Model):
    """Something that people were told of once, and once more when it was over."""

    SILENT, LOST, SPOOL = "silent", "card_lost", "spool_full"
    KINDS = [
        (SILENT, _("node is silent")),
        (LOST, _("card is lost")),
        (SPOOL, _("spool is full")),
    ]
    node = models.ForeignKey(Node, models.CASCADE, related_name="alerts")
    card = models.ForeignKey(Card, models.CASCADE, null=True, related_name="alerts")
    kind = models.CharField(max_length=20, choices=KINDS)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("alert")
        constraints = [
            models.UniqueConstraint(
                fields=["node", "card", "kind"],
                condition=Q(closed_at=None),
                name="one_open_alert",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.node_id}"
