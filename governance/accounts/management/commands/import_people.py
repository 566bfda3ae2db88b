"""Bring people in from a CSV file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.accounts.services import import_people
from governance.kernel.errors import DomainError
from governance.kernel.policy import SYSTEM
from governance.plumbing import clock


class Command(BaseCommand):
    help = "Import people (email, name, team, team_role, role): all rows or none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="CSV, UTF-8, with a header line")
        parser.add_argument("--dry-run", action="store_true", help="say what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = import_people(
                actor=SYSTEM,
                data=Path(options["file"]).read_bytes(),
                now=clock.now(),
                dry_run=options["dry_run"],
            )
        except (OSError, DomainError) as error:
            self.stderr.write(str(error))
            sys.exit(1)
        words = (
            f"{report.rows} rows: {report.added} added, {report.joined} joined a team, "
            f"{report.granted} roles given"
        )
        self.stdout.write(words + (" (dry run, nothing written)" if options["dry_run"] else ""))
