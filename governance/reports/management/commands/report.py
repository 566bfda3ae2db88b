"""`manage.py report NAME --from D --to D ...`: the same numbers as the page and the API."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from governance.kernel.errors import DomainError, Invalid
from governance.plumbing import clock
from governance.reports import queries
from governance.reports.domain.tables import csv_lines, json_answer, xlsx
from governance.reports.viewers import EVERYTHING


class Command(BaseCommand):
    help = "Prints a report as JSON, CSV or XLSX. Days are local and both included."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help=", ".join(sorted(queries.REPORTS)))
        parser.add_argument("--from", dest="from", metavar="D", default="")
        parser.add_argument("--to", metavar="D", default="")
        parser.add_argument("--timezone", metavar="Z", default="")
        parser.add_argument("--group-by", metavar="K[,K]", default="")
        parser.add_argument("--format", choices=["json", "csv", "xlsx"], default="json")
        parser.add_argument(
            "--filter", action="append", default=[], metavar="NAME=VALUE", help="team=SLUG ..."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        asked = {key: options[key] for key in ("from", "to", "timezone", "group_by")}
        try:
            asked |= self.filters(options["name"], options["filter"])
            result = queries.run(options["name"], EVERYTHING, asked, clock.now())
        except DomainError as refused:
            field = f"{refused.field}: " if isinstance(refused, Invalid) and refused.field else ""
            self.stderr.write(f"{field}{refused.reason}")
            sys.exit(1)
        if options["format"] == "json":
            text = json.dumps(json_answer(result), ensure_ascii=False, indent=2, allow_nan=False)
            self.stdout.write(text)
        elif options["format"] == "csv":
            for line in csv_lines(result):
                self.stdout.write(line, ending="")
        else:
            zone = queries.read_params(queries.find(result.name), asked, clock.now()).zone
            self.stdout.flush()
            sys.stdout.buffer.write(xlsx(result, zone))
            sys.stdout.buffer.flush()

    def filters(self, name: str, pairs: list[str]) -> dict[str, str]:
        """The options --filter NAME=VALUE; one that the report does not know is refused."""
        known = queries.find(name).filters
        found = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            if key not in known or not value:
                self.stderr.write(
                    f"--filter {pair}: write NAME=VALUE with one of {', '.join(known) or '-'}"
                )
                sys.exit(1)
            found[key] = value
        return found
