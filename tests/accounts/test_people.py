"""Adding people, roles, teams and projects: who may, what is refused, what the trail says."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from governance.accounts import services
from governance.accounts.models import Grant, Project, Team, User
from governance.kernel.errors import Denied, Invalid, Refused
from governance.plumbing.models import AuditEvent
from tests.make import House

pytestmark = pytest.mark.django_db
DAY = date(2026, 1, 1)
NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)


def test_an_administrator_adds_a_person_who_can_then_sign_in(house: House, client: object) -> None:
    services.add_person(
        actor=house.admin, email=" New@Example.test ", name="New", password="long enough 123 words"
    )
    assert client.login(email="new@example.test", password="long enough 123 words")  # type: ignore[attr-defined]
    event = AuditEvent.objects.get(act="people.add")
    assert event.after == {"email": "new@example.test", "name": "New"}


@pytest.mark.parametrize("who", ["member", "lead", "approver", "finance", "operator", "auditor"])
def test_nobody_else_adds_people_or_roles(house: House, who: str) -> None:
    actor = getattr(house, who)
    people, grants = User.objects.count(), Grant.objects.count()
    with pytest.raises(Denied):
        services.add_person(actor=actor, email="x@example.test", name="X")
    with pytest.raises(Denied):
        services.grant_role(actor=actor, user_id=actor.pk, role="admin", starts_on=DAY)
    assert (User.objects.count(), Grant.objects.count()) == (people, grants)
    assert not AuditEvent.objects.exists()


def test_an_address_is_taken_in_any_case_of_letters(house: House) -> None:
    with pytest.raises(Refused):
        services.add_person(actor=house.admin, email=house.member.email.upper(), name="X")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"email": "nonsense", "name": "X"}, "email"),
        ({"email": "a@example.test", "name": " "}, "name"),
        ({"email": "a@example.test", "name": "X", "password": "short"}, "password"),
    ],
)
def test_a_wrong_field_is_named_and_nobody_is_made(
    house: House, fields: dict[str, str], field: str
) -> None:
    count = User.objects.count()
    with pytest.raises(Invalid) as caught:
        services.add_person(actor=house.admin, **fields)
    assert caught.value.field == field
    assert User.objects.count() == count


def test_a_lead_makes_projects_and_members_in_the_own_team_only(house: House) -> None:
    made = services.add_project(actor=house.lead, team_id=house.team.pk, slug="fresh", name="Fresh")
    assert Project.objects.get(slug="fresh") == made
    with pytest.raises(Denied):
        services.add_project(
            actor=house.lead, team_id=house.other_team.pk, slug="theirs", name="Theirs"
        )
    services.join_team(
        actor=house.lead,
        user_id=house.outsider.pk,
        team_id=house.team.pk,
        role="member",
        starts_on=DAY,
    )
    assert "requests.create" in User.objects.get(pk=house.outsider.pk).abilities(house.team.pk)


def test_unknown_roles_and_zones_are_refused(house: House) -> None:
    with pytest.raises(Invalid):
        services.grant_role(
            actor=house.admin, user_id=house.member.pk, role="emperor", starts_on=DAY
        )
    with pytest.raises(Invalid) as caught:
        services.add_team(actor=house.admin, slug="x", name="X", timezone="Mars/Olympus")
    assert caught.value.field == "timezone"
    assert not Team.objects.filter(slug="x").exists()


class TestImport:
    FILE = b"email,name,team,team_role,role\nnora@example.test,Nora,%s,lead,approver finance\n"

    def bring(self, house: House, data: bytes, **options: Any) -> services.PeopleReport:
        return services.import_people(actor=house.admin, data=data, now=NOW, **options)

    def test_twice_is_once(self, house: House) -> None:
        data = self.FILE % house.team.slug.encode()
        first, second = self.bring(house, data), self.bring(house, data)
        assert (first.added, first.joined, first.granted) == (1, 1, 2)
        assert (second.added, second.joined, second.granted) == (0, 0, 0)

    def test_dry_run_writes_nothing(self, house: House) -> None:
        count = User.objects.count()
        assert self.bring(house, self.FILE % house.team.slug.encode(), dry_run=True).added == 1
        assert User.objects.count() == count

    @pytest.mark.parametrize(
        ("row", "field"),
        [
            ("x,Nora,,,", "3:email"),
            ("o@example.test,,,,", "3:name"),
            ("o@example.test,O,nowhere,,", "3:team"),
            ("o@example.test,O,,,king", "3:role"),
            ("o@example.test,O,,", "3:file"),
        ],
    )
    def test_one_bad_line_and_nobody_is_added(self, house: House, row: str, field: str) -> None:
        count = User.objects.count()
        good = self.FILE % house.team.slug.encode()
        with pytest.raises(Invalid) as refusal:
            self.bring(house, good + row.encode() + b"\n")
        assert refusal.value.field == field
        assert User.objects.count() == count
