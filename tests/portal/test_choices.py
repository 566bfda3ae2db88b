"""Language and theme: remembered by cookie, never a way off the site."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_language_holds_on_the_next_page_before_signing_in(client: Client) -> None:
    client.post("/language/", {"language": "zh-hans", "next": "/accounts/login/"})
    page = client.get("/accounts/login/").content.decode()
    assert '<html lang="zh-Hans"' in page


def test_theme_is_in_the_page_itself(client: Client) -> None:
    client.post("/theme/", {"theme": "dark", "next": "/accounts/login/"})
    assert 'data-theme="dark"' in client.get("/accounts/login/").content.decode()
    client.post("/theme/", {"theme": "system"})
    assert "data-theme=" not in client.get("/accounts/login/").content.decode().split(">")[1]


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"]
)
def test_the_way_back_stays_on_this_site(client: Client, target: str) -> None:
    answer = client.post("/theme/", {"theme": "dark", "next": target})
    assert answer["Location"] == "/"


@pytest.mark.parametrize(("path", "field"), [("/language/", "language"), ("/theme/", "theme")])
def test_an_unknown_choice_is_refused_and_not_stored(client: Client, path: str, field: str) -> None:
    answer = client.post(path, {field: "klingon"})
    assert answer.status_code == 400
    assert field not in answer.cookies


def test_get_changes_nothing(client: Client) -> None:
    assert client.get("/theme/?theme=dark").status_code == 405
