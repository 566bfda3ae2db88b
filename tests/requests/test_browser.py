"""The inbox worked with the keyboard alone, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse

from governance.plumbing import clock
from governance.requests.models import ComputeRequest, Delegation
from tests import make
from tests.requests import market

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(180),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]


@pytest.fixture
def page_of(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`page_of(user)` is a signed-in tab; console errors fail the test, but for the one style of
    plotly that the content policy is known to refuse."""
    from playwright.sync_api import sync_playwright

    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    faults: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )

        def sign_in(user: Any) -> Any:
            client = Client()
            client.force_login(user)
            name = settings.SESSION_COOKIE_NAME
            context = browser.new_context(base_url=live_server.url)
            context.add_cookies(
                [{"name": name, "value": client.cookies[name].value, "url": live_server.url}]
            )
            page = context.new_page()
            page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
            return page

        yield sign_in
        browser.close()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert [fault for fault in faults if "style-src-elem" not in fault] == []


def test_ask_back_answer_approve_refuse_by_keys(page_of: Any) -> None:
    house = make.house()
    at = market.stage(house, clock.now().replace(minute=0, second=0, microsecond=0))
    first, second = market.submitted(at), market.submitted(at)
    approver = page_of(house.approver)
    approver.goto(reverse("requests:approvals"))
    approver.keyboard.press("j")
    approver.keyboard.press("b")
    words = approver.locator(f"#open-{first.pk} textarea")
    words.wait_for()
    words.fill("Which data set?")
    approver.locator(f"#open-{first.pk} button", has_text="Ask back").click()
    approver.wait_for_load_state()
    first.refresh_from_db()
    assert first.state == "changes_asked"

    member = page_of(house.member)
    member.goto(reverse("requests:detail", args=[first.pk]))
    assert "Which data set?" in member.content()
    member.get_by_role("button", name="Submit").click()
    member.wait_for_load_state()
    first.refresh_from_db()
    assert (first.state, first.round) == ("submitted", 2)

    approver.goto(reverse("requests:approvals"))
    approver.keyboard.press("j")
    with approver.expect_navigation():
        approver.keyboard.press("a")
    states = dict(ComputeRequest.objects.values_list("pk", "state"))
    assert sorted(states.values()) == ["approved", "submitted"]
    left = next(pk for pk, state in states.items() if state == "submitted")
    approver.keyboard.press("j")
    approver.keyboard.press("r")
    words = approver.locator(f"#open-{left} textarea")
    words.wait_for()
    words.fill("Not this month.")
    with approver.expect_navigation():
        approver.locator(f"#open-{left} button", has_text="Refuse").click()
    assert ComputeRequest.objects.get(pk=left).state == "refused"
    assert second.pk in states

    approver.goto(reverse("requests:delegations"))
    approver.select_option("#id_taker", str(house.auditor.pk))
    with approver.expect_navigation():
        approver.get_by_role("button", name="Hand over").click()
    assert Delegation.objects.get().taker == house.auditor
    packages_follow_typing(page_of(house.member))


def packages_follow_typing(page: Any) -> None:
    """The answer changes as one types, and what it shows is what is submitted."""
    count = ComputeRequest.objects.count()
    page.goto(reverse("requests:new"))
    before = page.locator("#answer .pkg .cost").first.inner_text()
    with page.expect_response(lambda r: "/requests/packages/" in r.url):
        page.fill("#id_samples", "5,000")
    page.wait_for_timeout(500)
    assert page.locator("#answer .pkg .cost").first.inner_text() != before
    with page.expect_navigation():
        page.get_by_role("button", name="Submit request").click()
    assert ComputeRequest.objects.filter(state="submitted").count() == 1
    assert ComputeRequest.objects.count() == count + 1
