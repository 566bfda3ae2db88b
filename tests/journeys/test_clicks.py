"""The researcher's and the approver's part with clicks, in a real browser on the living system."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser import crawl
from tests.journeys.living import Living

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not crawl.CHROMIUM.exists(), reason="no Chromium: apt-get install chromium"),
]


def page_of(chromium: "Browser", base: str, role: str) -> "Page":
    """A page of somebody who signed in."""
    context = crawl.context_of(chromium, base, crawl.signed_in(chromium, base, role))
    return context.new_page()


def test_a_request_is_asked_for_and_approved_by_clicks(demonstration: Living) -> None:
    base = demonstration.address
    with crawl.browser() as chromium:
        page = page_of(chromium, base, "researcher")
        page.goto(f"{base}/")
        page.get_by_role("link", name="New request").first.click()
        page.select_option("#id_business_type", "fine_tuning")
        page.select_option("#id_preset", "llama-3-8b")
        page.select_option("#id_method", "lora")
        page.fill("#id_samples", "20000")
        page.fill("#id_reason", "Summaries of contracts")
        best = page.locator("#answer .pkg").first
        best.wait_for()
        assert re.search(r"\d", best.locator(".cost").inner_text())
        assert best.locator(".why").inner_text()
        page.get_by_role("button", name="Submit request").click()
        page.wait_for_url(re.compile(r"/requests/\d+/$"))
        number = page.url.rstrip("/").rsplit("/", 1)[1]
        page.context.close()

        page = page_of(chromium, base, "approver")
        page.goto(f"{base}/approvals/")
        row = page.locator(f"#row-{number}")
        row.get_by_role("button", name="Approve", exact=True).click()
        row.wait_for(state="detached")
        page.goto(f"{base}/requests/{number}/")
        page.get_by_text("Approved", exact=True).first.wait_for()
        assert page.get_by_role("button", name="Approve", exact=True).count() == 0
        page.context.close()
