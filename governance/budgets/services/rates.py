"""Keeping exchange rates: a rate is added for days to come and never changed."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from django.db import IntegrityError, transaction

from governance.budgets.models import FxRate
from governance.kernel.errors import Invalid
from governance.kernel.money import currency_places
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason
from governance.plumbing import audit

BAD_RATE = N_(
    "A rate needs two currencies, a number above zero, a source, and an end after its day."
)


def set_rate(
    *,
    actor: Actor,
    base: str,
    quote: str,
    day: date,
    rate: Decimal,
    source: str,
    until: date | None = None,
) -> int:
    """Add the rate of a day (or of the days up to `until`, not included) with its source.

    Entries that used a rate keep the rate, its day and source; a day's rate is set once.
    """
    require(actor, "fx.manage")
    for field, code in (("base", base), ("quote", quote)):
        try:
            currency_places(code)
        except ValueError as error:
            text = N_("This is no currency code of ISO 4217, such as CNY.")
            raise Invalid(Reason("fx_currency", text), field) from error
    end = day + timedelta(days=1) if until is None else until
    if base == quote or end <= day or not rate.is_finite() or rate <= 0 or not source.strip():
        raise Invalid(Reason("fx", BAD_RATE), "rate")
    try:
        with transaction.atomic():
            row = FxRate.objects.create(
                base=base, quote=quote, day=day, until=end, rate=rate, source=source.strip()
            )
            audit.record(actor=actor, act="fx.set", thing=row, after={"rate": str(rate)})
    except IntegrityError as error:
        raise Invalid(
            Reason("fx_known", N_("There is a rate for this pair and day already.")), "day"
        ) from error
    return row.pk
