"""The README's picture: a manager's home in the demonstration.

python -m tests.browser.readme http://127.0.0.1:8000
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PICTURE = Path("docs/pictures/home.png")


def main(base: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")
    import django

    django.setup()
    from tests.browser import crawl

    base = base.rstrip("/")
    with crawl.browser() as chromium:
        state = crawl.signed_in(chromium, base, "approver")
        context = crawl.context_of(chromium, base, state, language="en", theme="light")
        page = context.new_page()
        page.set_viewport_size({"width": 1280, "height": 860})
        page.goto(f"{base}/")
        crawl.settle(page)
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURE)
        context.close()


if __name__ == "__main__":
    main(sys.argv[1])
