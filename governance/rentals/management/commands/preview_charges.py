"""`manage.py preview_charges FILE.json`: every charge, credit and tax line of a rental's term."""

from argparse import ArgumentParser
from typing import Any

from governance.rentals.commands import RulesCommand
from governance.rentals.domain.preview import preview

HEAD = ("from", "to", "kind", "amount", "formula")


class Command(RulesCommand):
    help = "Shows what a rental will be charged, without a database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--until", metavar="D", help="list only lines that begin before D")

    def answer(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        return preview(data, until=options["until"])

    def show(self, data: Any, answer: dict[str, Any]) -> None:
        rows = [HEAD]
        for line in answer["lines"]:
            span = (line["period_start"], line["period_end"])
            rows.append((*span, line["kind"], line["amount"], line["formula"]))
        width = max(len(row[3]) for row in rows)
        for start, end, kind, amount, formula in rows:
            self.stdout.write(f"{start:<25}  {end:<25}  {kind:<6}  {amount:>{width}}  {formula}")
        sums = "  ".join(f"{name} {value}" for name, value in answer["totals"].items())
        self.stdout.write(f"{sums}  {data['currency']}")
