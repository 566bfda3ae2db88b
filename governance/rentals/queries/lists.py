"""Lists and details of rentals."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncMonth

from governance.kernel.errors import Missing
from governance.kernel.policy import Actor
from governance.rentals.models import Charge, Rental, RentalChange


def rentals_visible_to(viewer: Actor) -> QuerySet[Rental]:
    """Rentals that the viewer may see, with their projects and teams."""
    return Rental.objects.visible_to(viewer).select_related("project__team")


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
