"""Bringing a running team's rentals in, with their cards and what was paid: all rows or none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import cast
from zoneinfo import ZoneInfo

from django.db import transaction

from governance.accounts import queries as accounts
from governance.kernel.errors import DomainError
from governance.kernel.money import currency_places
from governance.kernel.policy import Actor, require
from governance.plumbing.tabular import Faults, Row, read_rows
from governance.rentals.domain.spec import RentalSpec
from governance.rentals.domain.terms import UNIT_OF, Plan, PlanKind, Tax
from governance.rentals.domain.vendors import rule_sets
from governance.rentals.models import Rental
from governance.rentals.services.opening import create_rental
from governance.telemetry import queries as telemetry

NEEDED = (
    "id", "project", "vendor", "card_model", "cards", "plan", "price", "currency", "starts_at",
)  # fmt: skip
COLUMNS = (
    *NEEDED, "units", "region", "ends_at", "tax_rate", "tax_inclusive", "rules", "paid_until",
    "paid_so_far", "card_uuids", "auto_renew",
)  # fmt: skip


@dataclass
class ImportReport:
    """What an import did (or, dry, would do), and its faults line by line."""

    made: int
    same: int
    cards: int
    faults: list[str]


def import_rentals(
    *, actor: Actor, data: bytes, now: datetime, dry_run: bool = False
) -> ImportReport:
    """Running rentals, one a row. `price` is that of one unit, `units` (1) how many are paid.

    `paid_until` is the time up to which all is paid: charging goes on from there; `paid_so_far` is
    kept as paid before. Cards are named by their UUIDs, separated by spaces. One fault and nothing
    is written; a rental that is there with the same terms counts as the same.
    """
    require(actor, "rentals.purchase")
    faults, report = Faults(), ImportReport(0, 0, 0, [])
    with transaction.atomic():
        for row in read_rows(data, COLUMNS, NEEDED, faults):
            _bring(actor, row, report, now)
        report.faults = faults.lines
        if report.faults or dry_run:
            transaction.set_rollback(True)
    return report


def _bring(actor: Actor, row: Row, report: ImportReport, now: datetime) -> None:
    before = len(row.faults.lines)
    spec = _spec(row)
    if spec is None or len(row.faults.lines) > before:
        return
    known = Rental.objects.filter(vendor=spec.vendor, external_id=spec.external_id).first()
    if known is not None:
        if _same(known, spec):
            report.same += 1
        else:
            row.fault("id", f"{spec.vendor} has a rental {spec.external_id} here with other terms")
        return
    try:
        with transaction.atomic():
            create_rental(actor=actor, spec=spec, now=now)
    except DomainError as error:
        row.fault(getattr(error, "field", None) or "id", str(error))
        return
    report.made += 1
    report.cards += len(spec.card_ids)


def _spec(row: Row) -> RentalSpec | None:
    zone = ZoneInfo(accounts.organisation().timezone)
    project = accounts.owner_named("project", row.text("project"))
    if project is None and row.cells.get("project"):
        row.fault("project", f"there is no project “{row.cells['project']}”")
    starts_at = row.moment("starts_at", zone, needed=True)
    plan = _plan(row)
    cards = row.whole("cards")
    card_ids = _cards(row)
    if len(card_ids) > cards:
        row.fault("card_uuids", f"{len(card_ids)} cards are named, {cards} are rented")
    paid = row.moment("paid_until", zone)
    if paid is not None and plan is not None and plan.kind != "hourly":
        paid -= timedelta(microseconds=1)
    ends_at = row.moment("ends_at", zone)
    vendor, card_model = row.text("vendor"), row.text("card_model")
    currency, external_id = row.text("currency"), row.text("id")
    quantity = row.whole("units", 1)
    paid_before = row.decimal("paid_so_far", Decimal(0))
    auto_renew = row.flag("auto_renew")
    if project is None or starts_at is None or plan is None:
        return None
    return RentalSpec(
        project_id=project,
        cards=cards,
        timezone=zone.key,
        plan=plan,
        starts_at=starts_at,
        ends_at=ends_at,
        quantity=quantity,
        region=row.cells.get("region", ""),
        origin="imported",
        paid_before=paid_before,
        charged_until=paid,
        card_ids=card_ids,
        auto_renew=auto_renew,
        vendor=vendor,
        card_model=card_model,
        currency=currency,
        external_id=external_id,
    )


def _plan(row: Row) -> Plan | None:
    kind = cast(PlanKind, row.choice("plan", tuple(UNIT_OF)))
    rules = rule_sets()[row.choice("rules", tuple(rule_sets()), "plain")]
    price, rate = row.decimal("price"), row.decimal("tax_rate", Decimal(0))
    tax = Tax(rate, row.flag("tax_inclusive")) if rate else None
    if rate >= 1:
        row.fault("tax_rate", f"“{rate}” is not a share such as 0.06")
    try:
        return rules.plan(kind, price, places=currency_places(row.text("currency")), tax=tax)
    except ValueError as error:
        column = "currency" if "currency" in str(error) else "rules"
        row.fault(column, str(error))
        return None


def _cards(row: Row) -> tuple[int, ...]:
    names = row.cells.get("card_uuids", "").split()
    found = telemetry.card_ids_by_uuid(names)
    for name in names:
        if name not in found:
            row.fault("card_uuids", f"no card “{name}” is enrolled")
    return tuple(found[name] for name in names if name in found)


def _same(known: Rental, spec: RentalSpec) -> bool:
    component = known.components.get(code="cards")
    return (
        known.project_id,
        known.cards,
        known.card_model,
        known.currency,
        known.starts_at,
        component.quantity,
        component.plan["kind"],
        Decimal(component.plan["price"]),
    ) == (
        spec.project_id,
        spec.cards,
        spec.card_model,
        spec.currency,
        spec.starts_at,
        spec.quantity,
        spec.plan.kind,
        spec.plan.price,
    )
