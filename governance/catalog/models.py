"""Card models with sourced figures, vendors with what was claimed of them, offers with prices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

SOURCE_KINDS = {
    "user": _("measured or confirmed by us"),
    "datasheet": _("data sheet"),
    "datasheet_copy": _("data sheet, as quoted elsewhere"),
    "formula": _("formula"),
    "measured": _("measured by others"),
    "community": _("community"),
    "vendor_claim": _("vendor claim"),
}
TERM_NAMES = {
    "hourly": _("hourly"),
    "daily": _("daily"),
    "monthly": _("monthly"),
    "quarterly": _("quarterly"),
    "annual": _("annual"),
    "spot": _("spot"),
}
LINE_NAMES = {
    "bgp": _("BGP, several carriers"),
    "cn2": _("CN2"),
    "cn2_gia": _("CN2 GIA"),
    "plain": _("plain line"),
}


class SeenByAll(models.QuerySet[Any]):
    """The catalogue is open to everybody who is signed in."""

    def visible_to(self, viewer: Any) -> SeenByAll:
        return self


class Vendor(models.Model):
    """Somebody who rents out cards."""

    slug = models.SlugField(max_length=60, unique=True, allow_unicode=True)
    name = models.CharField(_("vendor"), max_length=120)
    name_zh = models.CharField(max_length=120, blank=True)
    place = models.PositiveSmallIntegerField(default=100)

    objects = SeenByAll.as_manager()

    class Meta:
        verbose_name = _("vendor")
        ordering = ["place", "name"]

    def __str__(self) -> str:
        return self.name


class VendorStatement(models.Model):
    """What a source says of a vendor, in our words; nobody has checked it."""

    vendor = models.ForeignKey(Vendor, models.CASCADE, related_name="statements")
    topic = models.CharField(max_length=40)
    text = models.CharField(max_length=300)
    text_zh = models.CharField(max_length=300)
    source_kind = models.CharField(max_length=20, default="vendor_claim")
    source_ref = models.CharField(max_length=300)
    as_of = models.DateField()

    objects = SeenByAll.as_manager()

    class Meta:
        ordering = ["vendor", "topic"]
        constraints = [
            models.UniqueConstraint(
                fields=["vendor", "topic", "source_ref"], name="vendor_statement_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.vendor}: {self.topic}"


class CardModel(models.Model):
    """A card model. One that no figure is known of is kept and marked, never made up."""

    slug = models.SlugField(max_length=80, unique=True)
    name = models.CharField(_("card"), max_length=120)
    maker = models.CharField(_("maker"), max_length=60, blank=True)
    arch = models.CharField(max_length=60, blank=True)
    form = models.CharField(max_length=20, blank=True)
    memory_type = models.CharField(max_length=20, blank=True)
    link_kind = models.CharField(max_length=60, default="none")

    objects = SeenByAll.as_manager()

    class Meta:
        verbose_name = _("card model")
        ordering = ["maker", "name"]

    def __str__(self) -> str:
        return self.name


class CardAlias(models.Model):
    """A name that drivers, schedulers or price sheets use; `key` is it without punctuation."""

    key = models.CharField(max_length=120, unique=True)
    alias = models.CharField(max_length=120)
    card_model = models.ForeignKey(CardModel, models.CASCADE, related_name="aliases")

    objects = SeenByAll.as_manager()

    class Meta:
        ordering = ["alias"]

    def __str__(self) -> str:
        return self.alias


class Figure(models.Model):
    """One value of one quantity of a card from one source. Several may stand side by side."""

    card_model = models.ForeignKey(CardModel, models.CASCADE, related_name="figures")
    figure = models.CharField(max_length=40)
    value = models.FloatField()
    unit = models.CharField(max_length=30)
    source_kind = models.CharField(max_length=20, choices=list(SOURCE_KINDS.items()))
    source_ref = models.CharField(max_length=300)
    as_of = models.DateField()
    note = models.CharField(max_length=300, blank=True)

    objects = SeenByAll.as_manager()

    class Meta:
        ordering = ["card_model", "figure", "source_kind"]
        constraints = [
            models.UniqueConstraint(
                fields=["card_model", "figure", "source_kind", "source_ref"], name="figure_once"
            ),
            models.CheckConstraint(condition=Q(value__gte=0), name="figure_not_negative"),
            models.CheckConstraint(
                condition=Q(source_kind__in=list(SOURCE_KINDS)), name="figure_source_kind"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.card_model} {self.figure} {self.value:g} {self.unit}"


class Offer(models.Model):
    """One thing a vendor rents out: a unit of so many cards in a region. Rates are bytes/s a node
    and direction, Mbit/s a node for public lines; empty is not known."""

    vendor = models.ForeignKey(Vendor, models.PROTECT, related_name="offers")
    card_model = models.ForeignKey(CardModel, models.PROTECT, related_name="offers")
    region = models.CharField(_("region"), max_length=80, blank=True)
    sku = models.CharField(_("product"), max_length=120)
    cards_per_unit = models.PositiveIntegerField(_("cards a unit"), default=1)
    min_units = models.PositiveIntegerField(default=1)
    max_cards = models.PositiveIntegerField(null=True, blank=True)
    cards_per_node = models.PositiveIntegerField(_("cards a node"), default=8)
    link_kind = models.CharField(max_length=60, blank=True)
    link_bytes_per_s = models.FloatField(null=True, blank=True)
    network_bytes_per_s = models.FloatField(null=True, blank=True)
    network_shared = models.BooleanField(default=False)
    storage_read_bytes_per_s = models.FloatField(null=True, blank=True)
    storage_shared = models.BooleanField(default=False)
    egress_mbit = models.FloatField(null=True, blank=True)
    ingress_mbit = models.FloatField(null=True, blank=True)
    egress_shared = models.BooleanField(default=False)
    traffic_cap_gb = models.FloatField(null=True, blank=True)
    overage_per_gb = models.DecimalField(max_digits=20, decimal_places=8, null=True, blank=True)
    line = models.CharField(max_length=20, blank=True, choices=list(LINE_NAMES.items()))
    filing_required = models.BooleanField(null=True)
    filing_days = models.PositiveIntegerField(null=True, blank=True)
    host_shared = models.BooleanField(default=False)
    round_trips = models.JSONField(default=list, blank=True)
    source = models.CharField(max_length=300, blank=True)
    as_of = models.DateField(null=True)
    closed_on = models.DateField(null=True, blank=True)

    objects = SeenByAll.as_manager()

    class Meta:
        verbose_name = _("offer")
        ordering = ["vendor", "card_model", "region", "sku"]
        constraints = [
            models.UniqueConstraint(fields=["vendor", "region", "sku"], name="offer_once"),
            models.CheckConstraint(
                condition=Q(cards_per_unit__gte=1, cards_per_node__gte=1, min_units__gte=1),
                name="offer_counts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.vendor} {self.sku}"


class OfferPrice(models.Model):
    """The price of one unit for one term, from a day on; `valid_to` is the first day without it.
    A change of price closes the old row and opens a new one: what was bought keeps its price."""

    offer = models.ForeignKey(Offer, models.CASCADE, related_name="prices")
    kind = models.CharField(max_length=12, choices=list(TERM_NAMES.items()))
    price = models.DecimalField(max_digits=28, decimal_places=15)
    currency = models.CharField(max_length=3)
    tax_rate = models.DecimalField(max_digits=6, decimal_places=4, default=Decimal(0))
    tax_inclusive = models.BooleanField(default=True)
    valid_from = models.DateField()
    valid_to = models.DateField(null=True, blank=True)
    rules = models.JSONField(default=dict, blank=True)
    source = models.CharField(max_length=300, blank=True)
    as_of = models.DateField()

    objects = SeenByAll.as_manager()

    class Meta:
        ordering = ["offer", "kind", "-valid_from"]
        constraints = [
            models.UniqueConstraint(fields=["offer", "kind", "valid_from"], name="price_once"),
            models.UniqueConstraint(
                fields=["offer", "kind"], condition=Q(valid_to=None), name="price_one_open"
            ),
            models.CheckConstraint(condition=Q(price__gt=0), name="price_above_zero"),
            models.CheckConstraint(
                condition=Q(valid_to=None) | Q(valid_to__gt=models.F("valid_from")),
                name="price_validity",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.offer} {self.kind} {self.price} {self.currency}"
