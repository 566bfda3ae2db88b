"""Minutes, hours and days of cards, and what is still to be rolled up.

These tables are partitioned by time and written in bulk, so they refer to cards, streams and
holdings by plain ids and are made by the migration in SQL.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from governance.plumbing.partitions import Partitions

MINUTES = Partitions("telemetry_minutesample", key="minute", per_day=1440)
HOURS = Partitions("telemetry_usagehour", key="hour", per_day=24, days=32)


class MinuteSample(models.Model):
    """A card's minute as stored; `minute` counts minutes since 1970 UTC. Columns and units:
    `domain.columns`. Unknown is NULL."""

    pk = models.CompositePrimaryKey("card_id", "minute")
    card_id = models.IntegerField()
    minute = models.IntegerField()
    seq = models.BigIntegerField()
    stream_id = models.IntegerField()
    source = models.SmallIntegerField()
    fidelity = models.SmallIntegerField()
    samples = models.SmallIntegerField()
    active_samples = models.SmallIntegerField(null=True)
    bandwidth_samples = models.SmallIntegerField()
    bandwidth_active_samples = models.SmallIntegerField(null=True)
    bandwidth_mean = models.FloatField(null=True)
    bandwidth_active_mean = models.FloatField(null=True)
    bandwidth_max = models.FloatField(null=True)
    bandwidth_p95 = models.FloatField(null=True)
    gpu_duty = models.FloatField(null=True)
    memory_duty = models.FloatField(null=True)
    sm = models.FloatField(null=True)
    tensor = models.FloatField(null=True)
    clock_ratio = models.FloatField(null=True)
    power_w = models.FloatField(null=True)
    nvlink = models.FloatField(null=True)
    pcie = models.FloatField(null=True)
    net = models.FloatField(null=True)
    disk = models.FloatField(null=True)
    memory_used_bytes = models.BigIntegerField(null=True)
    memory_total_bytes = models.BigIntegerField(null=True)
    temperature_c = models.FloatField(null=True)
    window_ms = models.FloatField(null=True)
    xid_count = models.IntegerField(null=True)
    ecc_corrected_count = models.IntegerField(null=True)
    ecc_uncorrected_count = models.IntegerField(null=True)
    bandwidth_max_at = models.SmallIntegerField(null=True)
    throttle = models.TextField(null=True)  # noqa: DJ001 (unknown differs from none)
    reason = models.TextField(null=True)  # noqa: DJ001 (as copied)

    class Meta:
        managed = False
        db_table = MINUTES.table
        verbose_name = _("card minute")

    def __str__(self) -> str:
        return f"{self.card_id} {self.minute}"


class PackedDay(models.Model):
    """A card's closed UTC day of minutes as one value (`domain.packing`); `day` counts days since
    1970. Its minutes are then not in the minute table; a late row or a change of the calendar
    puts them back."""

    pk = models.CompositePrimaryKey("card_id", "day")
    card_id = models.IntegerField()
    day = models.IntegerField(db_index=True)
    minutes = models.IntegerField()
    body = models.BinaryField()

    class Meta:
        verbose_name = _("packed day")

    def __str__(self) -> str:
        return f"{self.card_id} {self.day}"


class _Usage(models.Model):
    """Sums over a stretch of one card, holder and metric source; see `domain.rollup`."""

    card_id = models.IntegerField()
    holding_id = models.BigIntegerField()
    source = models.SmallIntegerField()
    minutes = models.IntegerField()
    bandwidth_minutes = models.IntegerField()
    samples = models.BigIntegerField()
    activity_samples = models.BigIntegerField()
    active_samples = models.BigIntegerField()
    active_ms = models.BigIntegerField()
    bandwidth_samples = models.BigIntegerField()
    bandwidth_active_samples = models.BigIntegerField()
    bandwidth_total = models.BigIntegerField()
    bandwidth_active_total = models.BigIntegerField()
    histogram = ArrayField(models.BigIntegerField())
    bandwidth_max = models.FloatField(null=True)
    bandwidth_peak_at = models.BigIntegerField(null=True)
    gpu_duty_total = models.BigIntegerField(null=True)
    gpu_duty_weight = models.BigIntegerField(null=True)
    gpu_duty_active_total = models.BigIntegerField(null=True)
    gpu_duty_active_weight = models.BigIntegerField(null=True)
    memory_duty_total = models.BigIntegerField(null=True)
    memory_duty_weight = models.BigIntegerField(null=True)
    memory_duty_active_total = models.BigIntegerField(null=True)
    memory_duty_active_weight = models.BigIntegerField(null=True)
    sm_total = models.BigIntegerField(null=True)
    sm_weight = models.BigIntegerField(null=True)
    sm_active_total = models.BigIntegerField(null=True)
    sm_active_weight = models.BigIntegerField(null=True)
    tensor_total = models.BigIntegerField(null=True)
    tensor_weight = models.BigIntegerField(null=True)
    tensor_active_total = models.BigIntegerField(null=True)
    tensor_active_weight = models.BigIntegerField(null=True)
    clock_ratio_total = models.BigIntegerField(null=True)
    clock_ratio_weight = models.BigIntegerField(null=True)
    clock_ratio_active_total = models.BigIntegerField(null=True)
    clock_ratio_active_weight = models.BigIntegerField(null=True)
    power_w_total = models.BigIntegerField(null=True)
    power_w_weight = models.BigIntegerField(null=True)
    power_w_active_total = models.BigIntegerField(null=True)
    power_w_active_weight = models.BigIntegerField(null=True)
    nvlink_total = models.BigIntegerField(null=True)
    nvlink_weight = models.BigIntegerField(null=True)
    nvlink_active_total = models.BigIntegerField(null=True)
    nvlink_active_weight = models.BigIntegerField(null=True)
    pcie_total = models.BigIntegerField(null=True)
    pcie_weight = models.BigIntegerField(null=True)
    pcie_active_total = models.BigIntegerField(null=True)
    pcie_active_weight = models.BigIntegerField(null=True)
    net_total = models.BigIntegerField(null=True)
    net_weight = models.BigIntegerField(null=True)
    net_active_total = models.BigIntegerField(null=True)
    net_active_weight = models.BigIntegerField(null=True)
    disk_total = models.BigIntegerField(null=True)
    disk_weight = models.BigIntegerField(null=True)
    disk_active_total = models.BigIntegerField(null=True)
    disk_active_weight = models.BigIntegerField(null=True)
    memory_used_bytes = models.BigIntegerField(null=True)
    memory_total_bytes = models.BigIntegerField(null=True)
    temperature_c = models.FloatField(null=True)
    throttled_minutes = models.IntegerField()
    xid_count = models.BigIntegerField()
    ecc_corrected_count = models.BigIntegerField()
    ecc_uncorrected_count = models.BigIntegerField()

    class Meta:
        abstract = True


class UsageHour(_Usage):
    """An hour of a card by holder and metric source; `hour` counts hours since 1970 UTC,
    `holding_id` 0 is time that nobody held."""

    pk = models.CompositePrimaryKey("card_id", "hour", "holding_id", "source")
    hour = models.IntegerField()

    class Meta:
        managed = False
        db_table = HOURS.table
        verbose_name = _("card hour")

    def __str__(self) -> str:
        return f"{self.card_id} {self.hour}"


class UsageDay(_Usage):
    """A local day of a card by holder and metric source, in the time zone of the holder's team
    (of the organisation where nobody held the card)."""

    pk = models.CompositePrimaryKey("card_id", "day", "holding_id", "source")
    day = models.DateField()
    timezone = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("card day")
        indexes = [models.Index(fields=["day", "card_id"])]

    def __str__(self) -> str:
        return f"{self.card_id} {self.day}"


class DirtyHour(models.Model):
    """An hour of a card whose roll-up is out of date, due at a time."""

    pk = models.CompositePrimaryKey("card_id", "hour")
    card_id = models.IntegerField()
    hour = models.IntegerField()
    due_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("hour to roll up")

    def __str__(self) -> str:
        return f"{self.card_id} {self.hour}"


class DirtyDay(models.Model):
    """A local day of a card whose roll-up is out of date, due at a time."""

    pk = models.CompositePrimaryKey("card_id", "day", "timezone")
    card_id = models.IntegerField()
    day = models.DateField()
    timezone = models.CharField(max_length=64)
    due_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = _("day to roll up")

    def __str__(self) -> str:
        return f"{self.card_id} {self.day}"


class Kept(models.Model):
    """From which instant a level (minutes, hours) is still kept; before it, it was dropped."""

    level = models.CharField(max_length=10, primary_key=True)
    since = models.DateTimeField()

    class Meta:
        verbose_name = _("kept since")

    def __str__(self) -> str:
        return f"{self.level} {self.since:%F}"
