"""Bring a price sheet in."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.catalog.domain.sheets import FORMATS
from governance.catalog.services import import_prices, seed_catalogue
from governance.kernel.errors import DomainError
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock


class Command(BaseCommand):
    help = "Import a vendor's price sheet; prints counts and the rows that were refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the sheet, UTF-8")
        parser.add_argument("--format", required=True, choices=list(FORMATS))
        parser.add_argument("--vendor", required=True, help="whose prices these are")
        parser.add_argument("--dry-run", action="store_true", help="say what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            text = Path(options["file"]).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self._refuse(f"{options['file']}: {error}")
        try:
            seed_catalogue(actor=SYSTEM)
            report = import_prices(
                actor=SYSTEM,
                text=text,
                form=options["format"],
                vendor=options["vendor"],
                today=clock.now().date(),
                dry_run=options["dry_run"],
            )
        except DomainError as error:
            self._refuse(str(error))
        for row in report.warnings:
            self.stderr.write(f"{row.place}: {row.what}: {row.warning}")
        for name in report.unknown_cards:
            self.stderr.write(f"card “{name}” is not known: kept without figures")
        words = ", ".join(
            f"{report.count(state)} {state}"
            for state in ("new", "changed", "same", "skipped", "refused")
        )
        self.stdout.write(words + (" (dry run, nothing written)" if report.dry_run else ""))
        for row in report.refused:
            self.stdout.write(f"{row.place}: refused: {row.reason}")
        if report.refused:
            self._refuse("nothing was imported: mend these rows first")

    def _refuse(self, text: str) -> None:
        self.stderr.write(text)
        sys.exit(1)
