"""Bring budgets in from a CSV file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.budgets.services import import_budgets
from governance.kernel.errors import DomainError
from governance.kernel.policy import SYSTEM


class Command(BaseCommand):
    help = "Import budgets (owner, name, unit, first_day, currency, limit): all rows or none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="CSV, UTF-8, with a header line")
        parser.add_argument("--dry-run", action="store_true", help="say what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = import_budgets(
                actor=SYSTEM,
                data=Path(options["file"]).read_bytes(),
                dry_run=options["dry_run"],
            )
        except (OSError, DomainError) as error:
            self.stderr.write(str(error))
            sys.exit(1)
        if report.faults:
            for fault in report.faults:
                self.stderr.write(fault)
            sys.exit(1)
        words = f"{report.made} budgets made, {report.same} there already"
        self.stdout.write(words + (" (dry run, nothing written)" if options["dry_run"] else ""))
