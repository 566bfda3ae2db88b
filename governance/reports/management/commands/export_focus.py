"""`manage.py export_focus --month 2026-11 --version 1.2|1.4 --out DIR`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from governance.kernel.errors import DomainError, Invalid
from governance.plumbing import clock
from governance.reports.domain import focus
from governance.reports.queries.focus import FocusMonth, month_named, version_named
from governance.reports.viewers import EVERYTHING


class Command(BaseCommand):
    help = "Writes a month as FOCUS files: cost_and_usage.csv and, for 1.4, three more."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--month", required=True, metavar="2026-11")
        parser.add_argument("--version", dest="focus", required=True, metavar="1.2|1.4")
        parser.add_argument("--out", required=True, metavar="DIR", type=Path)

    def create_parser(self, *args: Any, **options: Any) -> CommandParser:
        """Django's own --version gives way to the one of the contract."""
        options.setdefault("conflict_handler", "resolve")
        return super().create_parser(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["out"]
        try:
            version = version_named(options["focus"])
            month = FocusMonth(EVERYTHING, month_named(options["month"]), clock.now())
            folder.mkdir(parents=True, exist_ok=True)
            count = self.rows(month, version, folder)
            lines = [f"cost_and_usage.csv {count}"]
            if version == "1.4":
                for dataset in month.datasets():
                    with (folder / dataset.file).open("w", encoding="utf-8", newline="") as out:
                        lines.append(f"{dataset.file} {dataset.write(out)}")
        except DomainError as refused:
            field = f"--{refused.field}: " if isinstance(refused, Invalid) else ""
            self.stderr.write(f"{field}{refused.reason}")
            sys.exit(1)
        except OSError as error:
            self.stderr.write(f"--out {folder}: {error.strerror}")
            sys.exit(1)
        for line in lines:
            self.stdout.write(f"{line} rows")

    def rows(self, month: FocusMonth, version: focus.Version, folder: Path) -> int:
        """The rows under a name of their own until they are complete."""
        part = folder / "cost_and_usage.csv.part"
        with part.open("w", encoding="utf-8", newline="") as out:
            count = focus.write(month.rows(), version, out)
        part.replace(folder / "cost_and_usage.csv")
        return count
