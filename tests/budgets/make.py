"""Budgets and holds for tests, made through the services."""

from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from governance.budgets import services
from governance.budgets.models import Budget
from governance.kernel.money import Money
from governance.kernel.periods import Period
from governance.kernel.policy import SYSTEM

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 10, 4, tzinfo=UTC)
NOVEMBER = Period(datetime(2026, 11, 10, tzinfo=SHANGHAI), datetime(2026, 11, 20, tzinfo=SHANGHAI))


def yuan(amount):
    return Money(Decimal(amount), "CNY")


def budget(limit, *, unit="month", first_day=date(2026, 11, 1), currency="CNY", **owner):
    pk = services.create_budget(
        actor=SYSTEM,
        unit=unit,
        first_day=first_day,
        currency=currency,
        limit=Decimal(limit),
        **owner,
    )
    return Budget.objects.get(pk=pk)


def hold(project, amount, key, *, period=NOVEMBER, now=NOW, actor=SYSTEM):
    money = amount if isinstance(amount, Money) else yuan(amount)
    return services.place_hold(
        actor=actor, project_id=project.pk, amount=money, period=period, key=key, now=now
    )


def spend(project, amount, *, key=None, period=NOVEMBER, now=NOW, net=None):
    gross = yuan(amount)
    item = services.Spending(
        gross if net is None else yuan(net), gross, period, period.start.astimezone(SHANGHAI).date()
    )
    services.record_spending(
        actor=SYSTEM, project_id=project.pk, items=[item], hold_key=key, reference="test", now=now
    )


def figures(of):
    """(held, spent) as plain text."""
    of.refresh_from_db()
    return (f"{of.held.normalize():f}", f"{of.spent.normalize():f}")
