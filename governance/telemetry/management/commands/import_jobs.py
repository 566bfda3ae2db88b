"""Who used how many cards when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.domain import jobs, tabular
from governance.telemetry.domain.jobs import Clock, JobFact
from governance.telemetry.domain.page import instant
from governance.telemetry.management.importing import opened, refusing, told


class Command(BaseCommand):
    help = (
        "Take in jobs: Slurm's `sacct` text (-P or in columns), or CSV with job_id, group, cards"
        " and any of person, submitted, started, ended, duration, state, nodes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--format", choices=["sacct", "csv"], default="csv")
        parser.add_argument("--columns", help="job_id=id,group=team,cards=gpus,...")
        parser.add_argument("--timezone", help="zone of times without offset")
        parser.add_argument("--origin", help="what relative times count from, ISO 8601")
        parser.add_argument(
            "--unit", choices=list(jobs.UNITS), default="second", help="of times and durations"
        )
        parser.add_argument("--cluster", help="name under which job ids are unique [the file's]")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        origin = instant(options["origin"]) if options["origin"] else None
        if options["origin"] and origin is None:
            raise CommandError(
                f"--origin {options['origin']}: write a time with offset, as 2026-11-01T00:00:00Z"
            )

        def read() -> list[JobFact]:
            with opened(file) as lines:
                reading = Clock(tabular.zone(options["timezone"]), origin, options["unit"])
                return jobs.read(
                    lines, form=options["format"], columns=options["columns"], clock=reading
                )

        rows = refusing(file, read)
        cluster = options["cluster"] or file.stem[:120]
        stored = refusing(
            file,
            lambda: services.import_jobs(
                actor=SYSTEM, cluster=cluster, unit=options["unit"], rows=rows, now=clock.now()
            ),
        )
        groups = len({row.group for row in rows})
        self.stdout.write(f"{len(rows)} jobs of {groups} groups: {told(stored)}")
        without = sum(row.cards == 0 for row in rows)
        if without:
            self.stdout.write(f"{without} jobs without cards")
