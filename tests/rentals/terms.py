"""Short ways to write terms in tests."""

from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from governance.rentals.domain.terms import Plan, Terms

SHANGHAI = ZoneInfo("Asia/Shanghai")


def at(text, zone=SHANGHAI):
    """A local time: `at("2026-01-25")`, `at("2026-01-25 10:17:30")`."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=zone)


def terms(kind, price, start, end=None, *, quantity=1, changes=(), ends=(), zone=SHANGHAI, **plan):
    return Terms(
        currency="CNY",
        zone=zone,
        plan=Plan(kind=kind, price=Decimal(price), **plan),
        start=at(start, zone),
        end=None if end is None else at(end, zone),
        quantity=quantity,
        changes=tuple(changes),
        ends=tuple(ends),
    )


def sums(lines):
    return sum((line.amount for line in lines), Decimal(0))


def shown(lines):
    """Amounts as text, in order."""
    return [f"{line.amount:f}" for line in lines]
