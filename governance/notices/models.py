"""What people are told, how they want to hear it, and the group channels."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from governance.notices.domain.messages import CHANNELS, KINDS

MAIL = {"now": _("at once"), "digest": _("once a day"), "off": _("never")}


class NoticeQuerySet(models.QuerySet["Notice"]):
    def visible_to(self, viewer: Any) -> NoticeQuerySet:
        """One's own."""
        return self.filter(person_id=getattr(viewer, "pk", 0))


class Notice(models.Model):
    """One happening told to one person. `text` is a message id, rendered for its reader."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=40)
    text = models.TextField()
    params = models.JSONField(default=dict)
    url = models.CharField(max_length=200, blank=True)
    project_id = models.BigIntegerField(null=True)
    key = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    objects = NoticeQuerySet.as_manager()

    class Meta:
        verbose_name = _("notice")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["person", "key"], name="one_notice_a_happening")
        ]
        indexes = [
            models.Index(fields=["person", "-id"], name="notice_of_person"),
            models.Index(fields=["person"], name="notice_unread", condition=models.Q(read_at=None)),
        ]

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """The sentence in the active language."""
        return gettext(self.text) % self.params if self.params else gettext(self.text)


class Preference(models.Model):
    """How a person wants to hear of a kind of happening; without a row: at once."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=40)
    mail = models.CharField(max_length=10, default="now", choices=list(MAIL.items()))

    class Meta:
        verbose_name = _("preference")
        constraints = [
            models.UniqueConstraint(fields=["person", "kind"], name="one_preference_a_kind"),
            models.CheckConstraint(condition=Q(kind__in=list(KINDS)), name="preference_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.mail}"


class QuietHours(models.Model):
    """No mail from one time of the day to another, in the organisation's zone."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    starts = models.TimeField()
    ends = models.TimeField()

    class Meta:
        verbose_name = _("quiet hours")

    def __str__(self) -> str:
        return f"{self.starts}-{self.ends}"


class Channel(models.Model):
    """A webhook or a group robot. Its secret is written once and never shown again."""

    kind = models.CharField(_("kind"), max_length=10, choices=list(CHANNELS.items()))
    name = models.CharField(_("name"), max_length=80, unique=True)
    url = models.URLField(_("address"), max_length=500)
    secret = models.CharField(max_length=200, blank=True)
    kinds = models.JSONField(default=list)
    team = models.ForeignKey("accounts.Team", models.CASCADE, null=True, related_name="+")
    language = models.CharField(max_length=10, default="zh-hans")
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("channel")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """What a channel took; one row a happening, so that a repeat is not sent again."""

    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    key = models.CharField(max_length=200)
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name = _("delivery")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["channel", "key"], name="one_delivery_a_happening")
        ]

    def __str__(self) -> str:
        return f"{self.channel_id} {self.key}"
