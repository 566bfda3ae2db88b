"""Pictures of every page, for people to look at:

    python -m tests.browser.shots http://127.0.0.1:8000 [--role approver ...] [--quick]

Each role, both languages, both themes, 1440 and 390 wide, into var/shots/ROLE/.
`--quick` takes English light on the desk and Chinese dark on the phone only.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import product
from pathlib import Path


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")
    import django

    django.setup()
    from tests.browser import crawl

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("--role", action="append", choices=crawl.ROLES)
    parser.add_argument("--out", type=Path, default=Path("var/shots"))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    base = options.base.rstrip("/")
    looks = [("en", "light", "desk"), ("zh-hans", "dark", "phone")]
    if not options.quick:
        looks = list(product(crawl.LANGUAGES, crawl.THEMES, crawl.WIDTHS))
    faults = 0
    with crawl.browser() as chromium:
        for role in options.role or crawl.ROLES:
            folder = options.out / role
            folder.mkdir(parents=True, exist_ok=True)
            state = crawl.signed_in(chromium, base, role)
            for language, theme, width in looks:
                context = crawl.context_of(chromium, base, state, language=language, theme=theme)
                for page, visit in crawl.walk(context, base):
                    page.set_viewport_size({"width": crawl.WIDTHS[width], "height": 900})
                    crawl.settle(page)
                    wide = crawl.overflow(page)
                    name = visit.path.split("?")[0].strip("/").replace("/", "_") or "home"
                    page.screenshot(
                        path=folder / f"{name}.{language}.{theme}.{width}.png", full_page=True
                    )
                    found = [*visit.faults, *crawl.refusals(page)]
                    if visit.status != 200:
                        found.append(f"status {visit.status}")
                    if wide > 0:
                        found.append(f"{wide} px too wide at {width}")
                    for fault in found:
                        faults += 1
                        print(f"{role} {visit.path} {language} {theme}: {fault}", file=sys.stderr)
                    page.set_viewport_size({"width": crawl.WIDTHS["desk"], "height": 900})
                context.close()
    print(f"{options.out}: done, {faults} faults")
    return 0


if __name__ == "__main__":
    sys.exit(main())
