"""Search answers from what the viewer may see, by words and by number."""

from __future__ import annotations

from governance.portal import search
from governance.requests import queries as requests
from tests.portal.conftest import Demo


def titles(demo: Demo, who: str, words: str) -> set[str]:
    return {hit.title for group in search.find(demo.person(who), words) for hit in group.hits}


def test_finds_across_rooms(demo: Demo) -> None:
    found = search.find(demo.person("approver"), "a800")
    assert {group.label for group in found} >= {"Rentals", "Cards", "Card models"}


def test_a_number_finds_its_request(demo: Demo) -> None:
    first = requests.visible(demo.person("approver")).order_by("pk").values_list("pk", flat=True)[0]
    assert any(title.startswith(f"#{first} ") for title in titles(demo, "approver", f"#{first}"))


def test_other_teams_stay_unknown(demo: Demo) -> None:
    assert titles(demo, "approver", "sh-a800-01")
    assert not titles(demo, "researcher", "sh-a800-01")
    assert titles(demo, "researcher", "bj-h100-01")


def test_too_little_finds_nothing_rather_than_everything(demo: Demo) -> None:
    assert search.find(demo.person("approver"), "a") == []
    assert search.find(demo.person("approver"), "   ") == []


def test_what_people_type_is_not_a_pattern(demo: Demo) -> None:
    assert not titles(demo, "approver", "%%")
    assert not titles(demo, "approver", "'; drop table")
