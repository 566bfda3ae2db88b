from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_json_nested_too_deeply_is_the_senders_fault(house: Any, client: Client) -> None:
    client.force_login(house.member)
    body = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    answer = client.post("/api/v1/requests/match/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["detail"] == "This JSON is nested too deeply."


def test_a_form_without_its_token_gets_a_page_of_ours(house: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(house.member)
    answer = client.post("/requests/new/", {"act": "submit"})
    assert answer.status_code == 403
    assert "Nothing was changed; load it again." in answer.content.decode()
