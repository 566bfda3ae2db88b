"""Bring running rentals in from a CSV file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.kernel.errors import DomainError
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.rentals.services import import_rentals
from governance.rentals.services.importing import COLUMNS


class Command(BaseCommand):
    help = f"Import running rentals: all rows or none. Columns: {', '.join(COLUMNS)}."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="CSV, UTF-8, with a header line")
        parser.add_argument("--dry-run", action="store_true", help="say what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = import_rentals(
                actor=SYSTEM,
                data=Path(options["file"]).read_bytes(),
                now=clock.now(),
                dry_run=options["dry_run"],
            )
        except (OSError, DomainError) as error:
            self.stderr.write(str(error))
            sys.exit(1)
        if report.faults:
            for fault in report.faults:
                self.stderr.write(fault)
            sys.exit(1)
        words = f"{report.made} rentals made with {report.cards} cards, {report.same} there already"
        self.stdout.write(words + (" (dry run, nothing written)" if options["dry_run"] else ""))
