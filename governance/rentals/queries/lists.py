"""Lists and details of rentals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import (
    Count,
    DecimalField,
    Exists,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce, TruncMonth

from governance.budgets import queries as budgets
from governance.kernel.errors import Missing
from governance.kernel.periods import Period, add_months
from governance.kernel.policy import Actor
from governance.rentals.domain.lifecycle import OVER, STATES
from governance.rentals.models import ZERO, Charge, CostDay, Rental, RentalChange
from governance.rentals.queries.terms import rental_terms


def rentals_visible_to(viewer: Actor) -> QuerySet[Rental]:
    """Rentals that the viewer may see, with their projects and teams."""
    return Rental.objects.visible_to(viewer).select_related("project__team")


def listed(viewer: Actor, filters: dict[str, Any], now: datetime) -> QuerySet[Rental]:
    """The list by state, team and words, each row with its cost of this month (net)."""
    rows = rentals_visible_to(viewer)
    state = filters.get("state") or ""
    if state in STATES:
        rows = rows.filter(state=state)
    elif state != "all":
        rows = rows.exclude(state__in=OVER)
    if filters.get("team"):
        rows = rows.filter(project__team__slug=filters["team"])
    words = (filters.get("q") or "").strip()
    if words:
        match = (
            Q(card_model__icontains=words)
            | Q(vendor__icontains=words)
            | Q(project__name__icontains=words)
            | Q(external_id__icontains=words)
        )
        number = words.lstrip("Rr#")
        if number.isdigit() and len(number) < 18:
            match |= Q(pk=int(number))
        rows = rows.filter(match)
    first = budgets.local_day(now).replace(day=1)
    days = CostDay.objects.filter(
        rental=OuterRef("pk"), day__gte=first, day__lt=add_months(first, 1)
    ).order_by()
    sums = {
        name: Coalesce(
            Subquery(days.values("rental").annotate(s=Sum(name)).values("s")), ZERO,
            output_field=DecimalField(max_digits=20, decimal_places=8),
        )
        for name in ("billed", "amortised")
    }  # fmt: skip
    return rows.annotate(month_billed=sums["billed"], month_amortised=sums["amortised"])


def component_rows(rental: Rental) -> list[dict[str, Any]]:
    """The priced parts with the price and quantity now in force."""
    rows = []
    for component, terms in rental_terms(rental):
        moment = rental.charged_until or rental.starts_at
        price, quantity = terms.price_at(moment, moment)
        rows.append(
            {
                "component": component,
                "price": price,
                "quantity": quantity,
                "plan": terms.plan,
                "end": terms.final_end,
            }
        )
    return rows


def cost_totals(rental: Rental) -> dict[str, Decimal]:
    """Net, tax and number of all charges so far."""
    return rental.charges.aggregate(
        net=Coalesce(Sum("net"), ZERO), tax=Coalesce(Sum("tax"), ZERO), count=Count("pk")
    )


def by_id(rental_id: int) -> Rental:
    """For the platform's own acts (no viewer); Missing (404) where there is none."""
    found = Rental.objects.select_related("project__team").filter(pk=rental_id).first()
    if found is None:
        raise Missing()
    return found


def rental_for(viewer: Actor, rental_id: int) -> Rental:
    """One rental, or Missing (404)."""
    found = rentals_visible_to(viewer).filter(pk=rental_id).first()
    if found is None:
        raise Missing()
    return found


def rentals_of_request(viewer: Actor, request_id: int) -> QuerySet[Rental]:
    """Rentals that a request led to."""
    return rentals_visible_to(viewer).filter(request_id=request_id)


def charges_of(rental: Rental) -> QuerySet[Charge]:
    """Charges of the rental, newest first."""
    return rental.charges.select_related("component").order_by("-due_at", "-pk")


def changes_of(rental: Rental) -> QuerySet[RentalChange]:
    """What happened to the rental, newest first."""
    return rental.changes.select_related("component").order_by("-known_at", "-pk")


def cost_months(rental: Rental) -> list[Any]:
    """Billed and amortised cost per month, in the rental's currency."""
    rows = (
        rental.cost_days.annotate(month=TruncMonth("day"))
        .values("month", "currency")
        .annotate(
            billed=Sum("billed"),
            billed_tax=Sum("billed_tax"),
            amortised=Sum("amortised"),
            charges=Sum("charges"),
            days=Count("day"),
        )
        .order_by("month")
    )
    return list(rows)


def with_charges(viewer: Actor, *, first: date, last: date, period: Period) -> Iterator[Rental]:
    """Rentals with `month_charges`: what was booked in the days (both included) or reaches into
    the period, oldest first. Read 500 rentals at a time, for exports that stream."""
    wanted = Q(booked_on__gte=first, booked_on__lte=last) | Q(
        period_start__lt=period.end, period_end__gt=period.start
    )
    rows = Charge.objects.filter(wanted).select_related("component").order_by("due_at", "pk")
    rentals = rentals_visible_to(viewer).filter(
        Exists(Charge.objects.filter(wanted, rental=OuterRef("pk")))
    )
    rentals = rentals.select_related("project__team", "project__cost_centre").order_by("pk")
    return rentals.prefetch_related(
        "components", Prefetch("charges", rows, to_attr="month_charges")
    ).iterator(chunk_size=500)
