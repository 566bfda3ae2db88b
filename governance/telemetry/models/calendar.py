"""The card calendar: who holds which card from when to when."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import (
    BigIntegerRangeField,
    DateTimeRangeField,
    RangeOperators,
)
from django.db import models
from django.db.models import F, Func, Q, Value
from django.utils.translation import gettext_lazy as _


class CardHoldingQuerySet(models.QuerySet["CardHolding"]):
    def visible_to(self, viewer: object) -> CardHoldingQuerySet:
        """All for those who see all, else those of the viewer's teams."""
        abilities = getattr(viewer, "abilities", None)
        if abilities is None:
            return self.none()
        if "see.all" in abilities():
            return self
        return self.filter(project__team_id__in=list(viewer.team_abilities))  # type: ignore[attr-defined]


class CardHolding(models.Model):
    """A card held for a project over a half-open span; the database refuses double booking.

    `rental_id` and `request_id` are ids of upper rooms. A holding is ended, never deleted: the
    roll-ups name it.
    """

    card = models.ForeignKey("telemetry.Card", models.PROTECT, related_name="holdings")
    span = DateTimeRangeField(_("from, to"))
    project = models.ForeignKey(
        "accounts.Project", models.PROTECT, related_name="+", verbose_name=_("project")
    )
    request_id = models.BigIntegerField(null=True, db_index=True)
    rental_id = models.BigIntegerField(null=True, db_index=True)
    booked_at = models.DateTimeField()
    booked_by = models.CharField(max_length=80)

    objects = CardHoldingQuerySet.as_manager()

    class Meta:
        verbose_name = _("card holding")
        constraints = [
            ExclusionConstraint(
                name="card_held_once",
                expressions=[
                    (
                        Func(
                            F("card_id"),
                            F("card_id"),
                            Value("[]"),
                            function="int8range",
                            output_field=BigIntegerRangeField(),
                        ),
                        RangeOperators.OVERLAPS,
                    ),
                    ("span", RangeOperators.OVERLAPS),
                ],
            ),
            models.CheckConstraint(
                condition=Q(span__lower_inc=True) | Q(span__isempty=True), name="holding_half_open"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.card_id} {self.span.lower:%F %H:%M}"
