"""What a scheduler allotted to groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.domain import occupancy, tabular
from governance.telemetry.domain.occupancy import Held
from governance.telemetry.management.importing import opened, refusing, told


class Command(BaseCommand):
    help = (
        "Take in timestamp, group, cards_owned, cards_allotted and, where known, cards_waiting."
        " A row holds until the next of its group, at most the file's usual step."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--timezone", help="zone of times without offset")
        parser.add_argument("--columns", help="timestamp=time,group=team,...")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]

        def read() -> list[Held]:
            with opened(file) as lines:
                local = tabular.zone(options["timezone"])
                return occupancy.read(lines, columns=options["columns"], local=local)

        rows = refusing(file, read)
        stored = refusing(
            file,
            lambda: services.import_occupancy(actor=SYSTEM, rows=rows, now=clock.now()),
        )
        groups = len({row.group for row in rows})
        self.stdout.write(f"{len(rows)} rows of {groups} groups: {told(stored)}")
