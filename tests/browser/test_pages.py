"""Every page of every role in a real browser: nothing seriously inaccessible, nothing refused by
the content security policy, no script error, no page wider than a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from governance.plumbing import clock
from governance.portal.demo import load, machines
from tests.browser import crawl

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(
        not crawl.CHROMIUM.exists(), reason=f"no browser: {crawl.CHROMIUM} is not installed"
    ),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
GRAVE = {"serious", "critical"}


@pytest.fixture
def base(live_server: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A served demonstration with three days of readings."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    monkeypatch.setattr(machines, "HISTORY_DAYS", 3)
    settings.DEMO = True
    settings.ALLOWED_HOSTS = ["*"]
    load.load(folder=tmp_path, web_port=18000, now=clock.now(), say=lambda line: None)
    return str(live_server.url)


def grave(page: Any) -> list[str]:
    """Serious and critical findings of axe on the open page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{v['id']} ({v['impact']}): {v['nodes'][0]['target']}"
        for v in found
        if v["impact"] in GRAVE
    ]


def test_pages_of_all_roles(base: str) -> None:
    """Each route once, in the look that falls to it: languages and themes take turns."""
    looks = [(lang, theme) for theme in crawl.THEMES for lang in crawl.LANGUAGES]
    done: set[str] = set()
    faults: list[str] = []
    with crawl.browser() as chromium:
        for number, role in enumerate(("approver", "researcher", "finance", "operator", "admin")):
            state = crawl.signed_in(chromium, base, role)
            language, theme = looks[number % len(looks)]
            context = crawl.context_of(chromium, base, state, language=language, theme=theme)
            for page, visit in crawl.walk(context, base):
                if visit.route in done:
                    continue
                done.add(visit.route)
                found = [*visit.faults, *crawl.refusals(page), *grave(page)]
                if visit.status != 200:
                    found.append(f"status {visit.status}")
                page.set_viewport_size({"width": crawl.WIDTHS["phone"], "height": 900})
                crawl.settle(page)
                if (wide := crawl.overflow(page)) > 0:
                    found.append(f"{wide} px too wide for a phone")
                page.set_viewport_size({"width": crawl.WIDTHS["desk"], "height": 900})
                faults += [f"{role} {visit.path} ({language}, {theme}): {f}" for f in found]
            context.close()
    assert len(done) > 30, done
    assert not faults, "\n" + "\n".join(faults)


def test_home_and_sign_in_in_all_looks(base: str) -> None:
    """The pages everybody sees, in both languages, both themes, both widths."""
    faults: list[str] = []
    with crawl.browser() as chromium:
        state = crawl.signed_in(chromium, base, "approver")
        for language in crawl.LANGUAGES:
            for theme in crawl.THEMES:
                for who, path in ((state, "/"), (None, "/accounts/login/")):
                    context = crawl.context_of(chromium, base, who, language=language, theme=theme)
                    page = context.new_page()
                    page.goto(base + path)
                    crawl.settle(page)
                    assert page.get_attribute("html", "data-theme") == theme
                    wanted = "zh-Hans" if language == "zh-hans" else "en"
                    assert page.get_attribute("html", "lang") == wanted
                    faults += [f"{path} {language} {theme}: {f}" for f in grave(page)]
                    page.set_viewport_size({"width": crawl.WIDTHS["phone"], "height": 900})
                    crawl.settle(page)
                    faults += [f"{path} {language} {theme} phone: {f}" for f in grave(page)]
                    context.close()
    assert not faults, "\n" + "\n".join(faults)


def test_keyboard_alone_approves_a_request(base: str) -> None:
    """From home: j to the first row, a to approve; the count falls."""
    with crawl.browser() as chromium:
        state = crawl.signed_in(chromium, base, "approver")
        context = crawl.context_of(chromium, base, state)
        page = context.new_page()
        page.goto(base + "/")
        assert page.inner_text(".topbar .count") == "3"
        page.keyboard.press("j")
        assert page.locator("[data-row].cursor").count() == 1
        with page.expect_navigation():
            page.keyboard.press("a")
        page.goto(base + "/")
        assert page.inner_text(".topbar .count") == "2"
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.keyboard.type("a800")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert "/search/?q=a800" in page.url
        context.close()
