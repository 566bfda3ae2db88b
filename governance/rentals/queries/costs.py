"""Cost from the daily roll-up, grouped; totals per currency, never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db.models import CharField, F, Sum
from django.db.models.functions import Cast, TruncMonth, TruncWeek

from governance.kernel.errors import Invalid
from governance.kernel.policy import Actor
from governance.kernel.reasons import N_, Reason
from governance.rentals.models import ZERO, CostDay, Rental

COST_GROUPS = {
    "rental": F("rental_id"),
    "project": F("rental__project__name"),
    "project_id": F("rental__project_id"),
    "team": F("rental__project__team__name"),
    "cost_centre": F("rental__project__cost_centre__code"),
    "vendor": F("rental__vendor"),
    "card_model": F("rental__card_model"),
    "plan": F("rental__plan_kind"),
    "request": F("rental__request_id"),
    "day": Cast("day", CharField()),
    "week": Cast(TruncWeek("day"), CharField()),
    "month": Cast(TruncMonth("day"), CharField()),
}


@dataclass(frozen=True, slots=True)
class CostRow:
    """Cost of one group in one currency, net of tax; `tax` is the tax on what was billed."""

    group: tuple[str, ...]
    currency: str
    billed: Decimal
    amortised: Decimal
    tax: Decimal
    charges: int


def cost_rows(
    viewer: Actor,
    *,
    first: date,
    last: date,
    group_by: Sequence[str] = (),
    filters: dict[str, object] | None = None,
) -> list[CostRow]:
    """Cost of the local days from `first` to `last`, both included, of rentals the viewer sees.

    `group_by` names keys of `COST_GROUPS`; filters are lookups of the daily roll-up.
    """
    unknown = [name for name in group_by if name not in COST_GROUPS]
    if unknown:
        raise Invalid(
            Reason(
                "group",
                N_("Cost cannot be grouped by %(name)s; it can by %(known)s."),
                {"name": unknown[0], "known": ", ".join(COST_GROUPS)},
            ),
            "group_by",
        )
    names = [f"key_{name}" for name in group_by]
    rows = CostDay.objects.filter(day__gte=first, day__lte=last, **(filters or {}))
    if "see.all" not in viewer.abilities():
        rows = rows.filter(rental__in=Rental.objects.visible_to(viewer))
    grouped = (
        rows.annotate(**{f"key_{name}": COST_GROUPS[name] for name in group_by})
        .values(*names, "currency")
        .annotate(
            billed_sum=Sum("billed", default=ZERO),
            amortised_sum=Sum("amortised", default=ZERO),
            tax_sum=Sum("billed_tax", default=ZERO),
            charges_sum=Sum("charges", default=0),
        )
        .order_by(*names, "currency")
    )
    return [
        CostRow(
            group=tuple("" if row[name] is None else str(row[name]) for name in names),
            currency=row["currency"],
            billed=row["billed_sum"],
            amortised=row["amortised_sum"],
            tax=row["tax_sum"],
            charges=row["charges_sum"],
        )
        for row in grouped
    ]
