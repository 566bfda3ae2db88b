"""Loading the demonstration: once, whole or not at all, through the rooms' own services."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from django.db import transaction

from governance.accounts import queries as accounts
from governance.kernel.periods import local_date
from governance.portal.demo import cast, machines, offers, people, rentals, wishes
from governance.reports import services as reports
from governance.telemetry.queries import freshness

Say = Callable[[str], None]
NIGHTS = 10


class Taken(Exception):
    """The installation holds data of its own; the demonstration stays out."""


def is_loaded() -> bool:
    """The demonstration's people are there."""
    return accounts.people().filter(email=cast.PEOPLE[0].email).exists()


def load(*, folder: Path, web_port: int, now: datetime, say: Say) -> None:
    """Load everything, or, where it is loaded, what happened since. Raises Taken where other
    people work here."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_loaded():
        go_on(now)
        say("the demonstration goes on where it stopped")
        return
    if accounts.people().exists():
        raise Taken("people other than the demonstration's are here; set DEMO=0")
    with transaction.atomic():
        company = people.found(now)
        say(f"{len(company.people)} people, {len(company.projects)} projects")
        people.allot(company, now)
        say(f"{offers.publish(company, now)} offers")
        nodes = machines.enrol(company.person("operator"), folder, web_port, now)
        machines.announce(nodes, now)
        made = rentals.rent(company, now)
        say(f"requests: {wishes.ask(company, now)}")
        say(f"{len(made)} rentals running, {rentals.charge(now)} charges")
        for name, rows in machines.remember(nodes, now):
            say(f"{name}: {rows} card-minutes")
        say(f"{judge(now)} nights of rentals judged")


def judge(now: datetime) -> int:
    """The nightly judgement of the last days, in order, as it would have been made."""
    today = local_date(now, ZoneInfo(people.ZONE))
    days = [today - timedelta(days=n) for n in range(NIGHTS, 0, -1)]
    return sum(reports.judge(day=day, now=now) for day in days)


def go_on(now: datetime) -> None:
    """Fill the time since the last reading."""
    known = freshness.freshness()
    machines.go_on(
        {node.name: node.newest_minute for node in known if node.newest_minute is not None},
        {node.name: node.id for node in known},
        now,
    )
