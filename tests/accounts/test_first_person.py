from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from governance.accounts.models import User
from governance.kernel.policy import can

pytestmark = pytest.mark.django_db
PASSWORD = "orchard-lantern-88"


def make(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
    call_command("createsuperuser", "--noinput", "--email", "Boss@example.com", "--name", "Boss")


def test_the_first_person_signs_in_and_lets_others_in(monkeypatch: pytest.MonkeyPatch) -> None:
    make(PASSWORD, monkeypatch)
    boss = User.objects.get(email="boss@example.com")
    assert can(boss, "people.manage").allowed
    client = Client()
    client.post("/accounts/login/", {"login": boss.email, "password": PASSWORD})
    assert client.get("/people/").status_code == 200
