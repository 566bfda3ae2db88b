"""Tables without business words: audit trail, outbox, idempotency keys, heartbeats."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditEvent(models.Model):
    """One act: who did what to which thing, before and after, and why. Never changed (trigger)."""

    at = models.DateTimeField()
    actor_key = models.CharField(max_length=80)
    actor_name = models.CharField(max_length=200)
    act = models.CharField(max_length=80)
    thing_type = models.CharField(max_length=80)
    thing_id = models.CharField(max_length=80)
    project_id = models.BigIntegerField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name = _("audit event")
        indexes = [
            models.Index(fields=["thing_type", "thing_id", "id"]),
            models.Index(fields=["project_id", "id"]),
            models.Index(fields=["actor_key", "id"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.act} {self.thing_type} {self.thing_id}"


class AuditSeal(models.Model):
    """A link of the hash chain over audit events, in the order in which they were sealed."""

    event = models.OneToOneField(AuditEvent, on_delete=models.PROTECT, related_name="seal")
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)

    class Meta:
        verbose_name = _("audit seal")

    def __str__(self) -> str:
        return self.digest


class OutboxEvent(models.Model):
    """Something others must hear of, written in the transaction of the act itself."""

    kind = models.CharField(max_length=80)
    key = models.CharField(max_length=200, unique=True)
    payload = models.JSONField()
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    dead_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)

    class Meta:
        verbose_name = _("outbox event")
        indexes = [
            models.Index(
                fields=["due_at"],
                name="outbox_due",
                condition=models.Q(delivered_at=None, dead_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class IdempotencyKey(models.Model):
    """The answer that a POST with this key got, kept 24 hours."""

    actor_key = models.CharField(max_length=80)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = _("idempotency key")
        constraints = [
            models.UniqueConstraint(fields=["actor_key", "key"], name="one_key_per_actor")
        ]

    def __str__(self) -> str:
        return f"{self.actor_key} {self.key}"


class Heartbeat(models.Model):
    """When a job last ran to its end."""

    name = models.CharField(max_length=120, primary_key=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = _("heartbeat")

    def __str__(self) -> str:
        return f"{self.name} {self.at:%F %T}"
