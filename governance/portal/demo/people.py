"""People, teams, projects and budgets of the demonstration."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from governance.accounts import services as accounts
from governance.budgets import services as budgets
from governance.kernel.periods import add_months, local_date
from governance.kernel.policy import SYSTEM
from governance.portal.demo import cast, contracts

ZONE = "Asia/Shanghai"
CURRENCY = "CNY"


@dataclass(frozen=True)
class Company:
    """What the other parts of the demonstration refer to."""

    people: Mapping[str, Any]
    teams: Mapping[str, int]
    projects: Mapping[str, int]
    centres: Mapping[str, int]

    def person(self, name: str) -> Any:
        return self.people[f"{name}@{cast.DOMAIN}"]


def found(now: datetime) -> Company:
    """Make the organisation and everybody in it."""
    since = local_date(now, ZoneInfo(ZONE)) - timedelta(days=400)
    accounts.name_organisation(
        actor=SYSTEM, name="Meridian Labs (demonstration)", timezone=ZONE, currency=CURRENCY
    )
    teams = {
        slug: accounts.add_team(actor=SYSTEM, slug=slug, name=name, timezone=ZONE).pk
        for slug, name in cast.TEAMS.items()
    }
    centres = {
        code: accounts.add_cost_centre(actor=SYSTEM, code=code, name=name).pk
        for code, name in cast.COST_CENTRES.items()
    }
    projects = {
        project.slug: accounts.add_project(
            actor=SYSTEM,
            team_id=teams[project.team],
            slug=project.slug,
            name=project.name,
            cost_centre_id=centres[project.cost_centre],
        ).pk
        for project in cast.PROJECTS
    }
    people = {person.email: hire(person, teams, since) for person in cast.PEOPLE}
    return Company(people, teams, projects, centres)


def hire(person: cast.Person, teams: Mapping[str, int], since: date) -> Any:
    user = accounts.add_person(
        actor=SYSTEM, email=person.email, name=person.name, password=cast.PASSWORD
    )
    for team, role in person.teams:
        accounts.join_team(
            actor=SYSTEM, user_id=user.pk, team_id=teams[team], role=role, starts_on=since
        )
    if person.across:
        accounts.grant_role(actor=SYSTEM, user_id=user.pk, role=person.across, starts_on=since)
    return user


def allot(company: Company, now: datetime) -> None:
    """Budgets of this month and the four before, and of the cost centres' quarters."""
    finance = company.person("finance")
    this_month = local_date(now, ZoneInfo(ZONE)).replace(day=1)
    months = [add_months(this_month, -n) for n in range(4, -1, -1)]
    for month in months:
        for team, limit in contracts.TEAM_LIMITS.items():
            budgets.create_budget(
                actor=finance,
                unit="month",
                first_day=month,
                currency=CURRENCY,
                limit=Decimal(limit),
                team_id=company.teams[team],
            )
    for quarter in sorted({m.replace(month=(m.month - 1) // 3 * 3 + 1) for m in months}):
        for code, limit in contracts.CENTRE_LIMITS.items():
            budgets.create_budget(
                actor=finance,
                unit="quarter",
                first_day=quarter,
                currency=CURRENCY,
                limit=Decimal(limit),
                cost_centre_id=company.centres[code],
            )
