"""Rentals of the demonstration, opened and charged through the rentals' own services."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from governance.kernel.periods import add_months, local_date, local_midnight
from governance.kernel.policy import SYSTEM
from governance.portal.demo import contracts, fleet
from governance.portal.demo.people import CURRENCY, ZONE, Company
from governance.rentals import services as rentals
from governance.telemetry.queries.cards import cards_for


def cards_by_uuid(company: Company) -> dict[str, int]:
    return dict(cards_for(company.person("operator")).values_list("uuid", "pk"))


def rent(company: Company, now: datetime) -> Mapping[str, int]:
    """Record every contract as a running team's rental; charges before the budgets began count as
    paid before. Rental ids by group."""
    zone = ZoneInfo(ZONE)
    today = local_date(now, zone)
    books_open = local_midnight(add_months(today.replace(day=1), -4), zone)
    cards = cards_by_uuid(company)
    places = {
        group.key: [cards[machine.uuid(index)] for index in group.indexes]
        for machine in fleet.MACHINES
        for group in machine.groups
    }
    made = {}
    for contract in contracts.CONTRACTS:
        starts = local_midnight(today - timedelta(days=contract.began), zone)
        ends = None
        if contract.ends is not None:
            ends = local_midnight(today + timedelta(days=contract.ends), zone)
        older = starts < books_open
        made[contract.group] = rentals.create_rental(
            actor=company.person("operator"),
            spec=rentals.RentalSpec(
                project_id=company.projects[contract.project],
                vendor=contract.vendor,
                region=contract.region,
                card_model=contract.card_model,
                cards=contract.cards,
                quantity=contract.cards,
                currency=CURRENCY,
                timezone=ZONE,
                plan=contract.plan,
                starts_at=starts,
                ends_at=ends,
                origin="imported",
                external_id=f"DEMO-{contract.group.upper()}",
                charged_until=books_open if older else None,
                paid_before=paid(contract, starts, books_open) if older else Decimal(0),
                card_ids=tuple(places[contract.group]),
                auto_renew=contract.auto_renew,
            ),
            now=now,
        )
    return made


def paid(contract: contracts.Contract, starts: datetime, until: datetime) -> Decimal:
    """Whole months paid before the books opened, roughly: thirty days each."""
    price = contract.plan.price / (12 if contract.plan.kind == "annual" else 1)
    months = max(1, (until - starts).days // 30)
    return (price * contract.cards * months).quantize(Decimal("0.01"))


def charge(now: datetime) -> int:
    """Post what fell due, and end what is over; returns the charges made."""
    run = rentals.charge_rentals(actor=SYSTEM, until=now, now=now)
    if run.failed:
        raise RuntimeError(f"rentals not charged: {run.failed}")
    rentals.advance_states(actor=SYSTEM, now=now)
    return run.charges
