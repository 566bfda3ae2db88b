"""People from a CSV file, with team and roles: all rows or none, and twice is once."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import date, datetime

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from governance.accounts import queries
from governance.accounts.domain import roles
from governance.accounts.models import Grant, Membership, Team, User, active_on
from governance.accounts.services.acting import acting
from governance.accounts.services.people import add_person, grant_role, join_team
from governance.kernel.errors import Invalid
from governance.kernel.policy import Actor, require
from governance.kernel.reasons import N_, Reason

COLUMNS = ("email", "name", "team", "team_role", "role")


@dataclass(slots=True)
class PeopleReport:
    """What an import did."""

    rows: int = 0
    added: int = 0
    joined: int = 0
    granted: int = 0


def import_people(
    *, actor: Actor, data: bytes, now: datetime, dry_run: bool = False
) -> PeopleReport:
    """Rows `email, name, team, team_role, role` (team by short name; roles separated by spaces).

    Known people keep their name and get what they lack. Invalid names line and column.
    """
    rows = _read(data)
    report = PeopleReport()
    with transaction.atomic():
        person = acting(actor)
        require(person, "people.manage")
        today = queries.local_day(now)
        for line, row in rows:
            report.rows += 1
            user = _person(person, row, line, report)
            _team(person, user, row, line, report, today)
            _roles(person, user, row, line, report, today)
        if dry_run:
            transaction.set_rollback(True)
    return report


def _read(data: bytes) -> list[tuple[int, dict[str, str]]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad(1, "file", N_("the file is not in UTF-8")) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, line) for line in reader if any(c.strip() for c in line)]
    except csv.Error as error:
        raise _bad(reader.line_num, "file", N_("the line is not proper CSV")) from error
    head = [name.strip() for name in lines[0][1]] if lines else []
    stray = [name for name in head if name not in COLUMNS or head.count(name) > 1]
    if stray or not {"email", "name"} <= set(head):
        allowed = ", ".join(COLUMNS)
        raise Invalid(
            Reason("columns", N_("The columns are: %(columns)s."), {"columns": allowed}),
            stray[0] if stray else "email",
        )
    found = []
    for number, line in lines[1:]:
        if len(line) != len(head):
            raise _bad(number, "file", N_("the line has another number of cells than the header"))
        found.append((number, {n: c.strip() for n, c in zip(head, line, strict=True)}))
    return found


def _person(actor: Actor, row: dict[str, str], line: int, report: PeopleReport) -> User:
    email = row["email"].lower()
    try:
        validate_email(email)
    except ValidationError as error:
        raise _bad(line, "email", N_("this is no e-mail address")) from error
    known = User.objects.filter(email=email).first()
    if known is not None:
        return known
    if not 0 < len(row["name"]) <= 120:
        raise _bad(line, "name", N_("a name of at most 120 characters is needed"))
    report.added += 1
    return add_person(actor=actor, email=email, name=row["name"])


def _team(
    actor: Actor, user: User, row: dict[str, str], line: int, report: PeopleReport, today: date
) -> None:
    slug, role = row.get("team", ""), row.get("team_role", "") or "member"
    if not slug:
        return
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        raise _bad(line, "team", N_("there is no such team"))
    if role not in roles.TEAM_ROLES:
        raise _bad(line, "team_role", N_("member or lead is needed"))
    held = Membership.objects.filter(active_on(today), user=user, team=team, role=role)
    if not held.exists():
        join_team(actor=actor, user_id=user.pk, team_id=team.pk, role=role, starts_on=today)
        report.joined += 1


def _roles(
    actor: Actor, user: User, row: dict[str, str], line: int, report: PeopleReport, today: date
) -> None:
    for role in row.get("role", "").split():
        if role not in roles.GLOBAL_ROLES:
            raise _bad(line, "role", N_("there is no such role"))
        held = Grant.objects.filter(active_on(today), user=user, role=role)
        if not held.exists():
            grant_role(actor=actor, user_id=user.pk, role=role, starts_on=today)
            report.granted += 1


def _bad(line: int, column: str, fault: str) -> Invalid:
    return Invalid(
        Reason(
            "row",
            N_("Line %(line)s, %(column)s: %(fault)s"),
            {"line": line, "column": column, "fault": fault},
        ),
        f"{line}:{column}",
    )
