"""What schedulers and inventories say: jobs, allotted cards, machines."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class Occupancy(models.Model):
    """Cards that a group owned, was allotted and waited for, over `seconds` from `at` on."""

    group = models.CharField(_("group"), max_length=120)
    at = models.DateTimeField()
    seconds = models.PositiveIntegerField()
    owned = models.PositiveIntegerField()
    allotted = models.PositiveIntegerField()
    waiting = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name = _("occupancy")
        constraints = [models.UniqueConstraint(fields=["group", "at"], name="one_occupancy")]

    def __str__(self) -> str:
        return f"{self.group} {self.at:%F %T}"


class Job(models.Model):
    """A scheduler's job: who used how many cards when. `unit` is the time unit of its file."""

    cluster = models.CharField(max_length=120)
    job_id = models.CharField(max_length=120)
    group = models.CharField(_("group"), max_length=120)
    person = models.CharField(_("person"), max_length=120, blank=True)
    cards = models.PositiveIntegerField()
    submitted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    seconds = models.BigIntegerField(null=True)
    unit = models.CharField(max_length=10, default="second")
    state = models.CharField(max_length=40, blank=True)
    nodes = ArrayField(models.CharField(max_length=120), default=list)

    class Meta:
        verbose_name = _("job")
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id"], name="one_job")]
        indexes = [models.Index(fields=["group", "started_at"])]

    def __str__(self) -> str:
        return self.job_id


class InventoryEntry(models.Model):
    """Cards of one model in one machine, as an inventory says; an unknown model is kept and
    has no slug."""

    node = models.CharField(_("node"), max_length=200)
    model_text = models.CharField(_("card model"), max_length=200)
    model_slug = models.CharField(max_length=80, blank=True)
    cards = models.PositiveIntegerField(_("cards"))
    imported_at = models.DateTimeField()

    class Meta:
        verbose_name = _("inventory entry")
        constraints = [
            models.UniqueConstraint(fields=["node", "model_text"], name="one_inventory_entry")
        ]

    def __str__(self) -> str:
        return f"{self.node} {self.model_text}"
