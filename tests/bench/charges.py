"""Charging 1,000 rentals for a year at once, again, and a month's cost report over the roll-up."""

import time
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from statistics import median
from zoneinfo import ZoneInfo

from django.db import connection

from governance.accounts.models import CostCentre, Project, Team
from governance.kernel.policy import SYSTEM
from governance.rentals import queries, services
from governance.rentals.domain.terms import Plan, Tax
from governance.rentals.models import Charge

ZONE = ZoneInfo("Asia/Shanghai")
RENTALS, DAYS = 1_000, 365
START = datetime(2025, 11, 1, tzinfo=ZONE)


class _Everyone:
    actor_key, display = "bench", "bench"

    def abilities(self, team_id: int | None = None) -> frozenset[str]:
        return frozenset({"see.all"})


def run() -> tuple[Mapping[str, float], Mapping[str, str]]:
    """Seconds to charge and to find nothing to do; milliseconds of a month's report."""
    projects = _projects()
    for i in range(RENTALS):
        spec = services.RentalSpec(
            project_id=projects[i % len(projects)],
            vendor=f"vendor-{i % 7}",
            card_model=f"card-{i % 11}",
            cards=8,
            quantity=8,
            currency="CNY",
            timezone="Asia/Shanghai",
            plan=Plan("hourly", Decimal("14.80"), tax=Tax(Decimal("0.06"), True)),
            starts_at=START,
        )
        services.create_rental(actor=SYSTEM, spec=spec, now=START)
    until = START + timedelta(days=DAYS)
    first = _seconds(
        lambda: services.charge_rentals(actor=SYSTEM, until=until, now=until, workers=2)
    )
    charges = Charge.objects.count()
    if charges != RENTALS * DAYS:
        raise RuntimeError(f"{charges} charges, {RENTALS * DAYS} expected")
    again = _seconds(lambda: services.charge_rentals(actor=SYSTEM, until=until, now=until))
    _more_rows()
    month = {"first": date(2026, 3, 1), "last": date(2026, 3, 31)}
    report = [
        _seconds(lambda: queries.cost_rows(_Everyone(), group_by=["team"], **month))
        for _ in range(9)
    ]
    figures = {
        "rentals": RENTALS,
        "charges": charges,
        "charge_year_s": first,
        "charges_per_s": charges / first,
        "charge_again_s": again,
        "report_charges": Charge.objects.count(),
        "report_month_ms": median(report) * 1_000,
        "report_month_worst_ms": max(report) * 1_000,
    }
    units = {
        "rentals": "rentals",
        "charges": "charges",
        "charge_year_s": "s",
        "charges_per_s": "charges/s",
        "charge_again_s": "s",
        "report_charges": "charges",
        "report_month_ms": "ms",
        "report_month_worst_ms": "ms",
    }
    return figures, units


def _seconds(act: object) -> float:
    start = time.perf_counter()
    act()  # type: ignore[operator]
    return time.perf_counter() - start


def _projects() -> list[int]:
    made = []
    for i in range(20):
        team = Team.objects.create(name=f"Team {i}", slug=f"team-{i}")
        for j in range(5):
            centre = CostCentre.objects.create(code=f"C{i}-{j}", name="centre")
            project = Project.objects.create(
                team=team, cost_centre=centre, name=f"P{i}-{j}", slug=f"p-{i}-{j}"
            )
            made.append(project.pk)
    return made


def _more_rows() -> None:
    """Up to a million charges: two more kinds for every second rental, booked in the roll-up."""
    columns = [field.column for field in Charge._meta.concrete_fields if not field.primary_key]
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        for kind in ("disk", "bandwidth"):
            values = ", ".join(f"'{kind}'" if name == "kind" else name for name in columns)
            cursor.execute(
                f"INSERT INTO rentals_charge ({names}) SELECT {values} FROM rentals_charge"
                " WHERE kind = 'cards' AND rental_id % 8 < 7"
            )
            cursor.execute(
                "UPDATE rentals_costday SET billed = billed * 2, amortised = amortised * 2,"
                " charges = charges + 1 WHERE rental_id % 8 < 7"
            )
        cursor.execute("ANALYZE rentals_costday")
