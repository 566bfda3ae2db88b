"""A browser that walks the product as a person of each role: one page of each route, by links."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.urls import Resolver404, resolve

from governance.portal.demo.cast import DOMAIN, PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = Path("/usr/bin/chromium")
ROLES = ("researcher", "lead", "approver", "finance", "operator", "auditor", "admin")
LANGUAGES, THEMES = ("en", "zh-hans"), ("light", "dark")
WIDTHS = {"desk": 1440, "phone": 390}
MOST_PAGES = 60
SKIPPED = ("/accounts/logout", "/api/", "/static/", "/metrics", "/readyz", "/livez", "export")

KNOWN_REFUSAL = "sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o="
"""plotly's style for maps, which nothing here draws: the one refusal that is expected."""

WATCH = """
window.refusals = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.refusals.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""


@dataclass
class Visit:
    """A page as found: its route, address, what it said to the console."""

    route: str
    path: str
    status: int
    faults: list[str] = field(default_factory=list)


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's chromium, no network services of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(
            executable_path=str(CHROMIUM),
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        try:
            yield found
        finally:
            found.close()


def signed_in(chromium: Browser, base: str, role: str) -> Any:
    """Signs the role's demonstration account in through the form, once; the state of its browser
    serves further contexts (sign-ins are limited per minute)."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{base}/accounts/login/")
    page.fill("#id_login", f"{role}@{DOMAIN}")
    page.fill("#id_password", PASSWORD)
    page.click("form .submit .btn.primary")
    page.wait_for_selector("details.who", timeout=60_000)
    state = context.storage_state()
    context.close()
    return state


def context_of(
    chromium: Browser, base: str, state: Any, *, language: str = "en", theme: str = "light"
) -> BrowserContext:
    """A window of somebody signed in, in a language and a theme."""
    context = chromium.new_context(
        storage_state=state, viewport={"width": WIDTHS["desk"], "height": 900}
    )
    context.set_default_timeout(60_000)
    context.add_cookies(
        [
            {"name": "language", "value": language, "url": base},
            {"name": "theme", "value": theme, "url": base},
        ]
    )
    context.add_init_script(WATCH)
    return context


def route_of(path: str) -> str:
    """The route's pattern; pages of one route count as one."""
    try:
        return str(resolve(path).route)
    except Resolver404:
        return path


def walk(context: BrowserContext, base: str, *, start: str = "/") -> Iterator[tuple[Page, Visit]]:
    """Every page that links lead to, one of each route, with the page open while yielded."""
    from playwright.sync_api import Error as PlaywrightError

    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("console", lambda message: _hear(message, faults))
    seen, queue = {route_of(start)}, [start]
    while queue and len(seen) <= MOST_PAGES:
        path = queue.pop(0)
        faults.clear()
        try:
            answer = page.goto(base + path)
        except PlaywrightError as error:
            if "Download is starting" in str(error):
                continue
            raise
        settle(page)
        yield page, Visit(route_of(path), path, answer.status if answer else 0, list(faults))
        for link in links(page, base):
            route = route_of(urlsplit(link).path)
            if route not in seen:
                seen.add(route)
                queue.append(link)
    page.close()


def settle(page: Page) -> None:
    """Charts are drawn, swaps are done."""
    page.wait_for_load_state("networkidle")
    page.evaluate(
        """async () => {
          const undrawn = "[data-chart]:not([data-drawn])";
          for (let i = 0; i < 50 && document.querySelector(undrawn); i += 1)
            await new Promise((done) => setTimeout(done, 100));
        }"""
    )


def links(page: Page, base: str) -> list[str]:
    """Addresses of our own pages that the open page links to."""
    found: list[str] = page.eval_on_selector_all("a[href]", "all => all.map((a) => a.href)")
    inside = []
    for address in found:
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" != base:
            continue
        file = parts.path.endswith((".csv", ".xlsx", ".json", ".yaml"))
        if file or any(word in address for word in SKIPPED) or "format=" in parts.query:
            continue
        inside.append(parts.path + (f"?{parts.query}" if parts.query else ""))
    return inside


def refusals(page: Page) -> list[str]:
    """What the content security policy refused on the page, but for the known one."""
    return [r for r in page.evaluate("window.refusals || []") if "style-src-elem inline" not in r]


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def _hear(message: Any, faults: list[str]) -> None:
    if message.type == "error" and KNOWN_REFUSAL not in message.text:
        faults.append(message.text[:300])
