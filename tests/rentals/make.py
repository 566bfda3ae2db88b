"""Rentals for tests, made through the services."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from governance.kernel.policy import SYSTEM
from governance.rentals import services
from governance.rentals.domain.terms import Plan
from governance.rentals.models import Rental

SHANGHAI = ZoneInfo("Asia/Shanghai")


def local(*parts):
    return datetime(*parts, tzinfo=SHANGHAI)


def spec(project, kind="hourly", price="10.00", start=None, end=None, **fields):
    plan = Plan(kind=kind, price=Decimal(price))
    plan_fields = {k: fields.pop(k) for k in list(fields) if k in Plan.__dataclass_fields__}
    return services.RentalSpec(
        project_id=project.pk,
        vendor=fields.pop("vendor", "CloudA"),
        card_model=fields.pop("card_model", "h100-sxm-80gb"),
        cards=fields.pop("cards", 1),
        currency=fields.pop("currency", "CNY"),
        timezone="Asia/Shanghai",
        plan=replace(plan, **plan_fields),
        starts_at=start or local(2026, 10, 1),
        ends_at=end,
        **fields,
    )


def rental(project, kind="hourly", price="10.00", *, now=None, **fields):
    made = spec(project, kind, price, **fields)
    pk = services.create_rental(actor=SYSTEM, spec=made, now=now or made.starts_at)
    return Rental.objects.get(pk=pk)


def charge(until, *, now=None, ids=None):
    return services.charge_rentals(actor=SYSTEM, until=until, now=now or until, rental_ids=ids)


def amounts(of):
    """Net amounts in order of due time, as plain text."""
    return [f"{row.net.normalize():f}" for row in of.charges.order_by("due_at", "pk")]


def rows(of):
    """All that must not depend on when or how often charging ran."""
    return list(
        of.charges.order_by("due_at", "kind", "sequence").values_list(
            "kind",
            "period_start_local",
            "sequence",
            "net",
            "tax",
            "period_end",
            "due_at",
            "formula",
        )
    )


def days(of):
    return list(of.cost_days.order_by("day").values_list("day", "billed", "amortised", "charges"))
