"""`manage.py preview_charges FILE.json`: every charge, credit and tax line of a rental's term."""

from argparse import ArgumentParser
from typing import Any

from governance.rentals.cli import RulesCommand, print_json
from governance.rentals.domain.preview import preview


class Command(RulesCommand):
    help = "Shows what a rental will be charged, without a database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.json", help="the rental's terms; - reads stdin")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")
        parser.add_argument("--until", metavar="D", help="list lines that begin before D")

    def answer(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        return preview(data, until=options["until"])

    def show(self, data: Any, answer: dict[str, Any]) -> None:
        rows = [
            (
                line["period_start"],
                line["period_end"],
                line["kind"],
                line["amount"],
                line["formula"],
            )
            for line in answer["lines"]
        ]
        head = ("from", "to", "kind", "amount", "formula")
        width = max([len(row[3]) for row in rows] + [len(head[3])])
        for start, end, kind, amount, formula in [head, *rows]:
            self.stdout.write(f"{start:<25}  {end:<25}  {kind:<6}  {amount:>{width}}  {formula}")
        totals = "  ".join(f"{name} {value}" for name, value in answer["totals"].items())
        self.stdout.write(f"{totals}  {data['currency']}")


__all__ = ["Command", "print_json"]
