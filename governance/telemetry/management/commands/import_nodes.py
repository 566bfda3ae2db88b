"""An inventory of machines and their cards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.domain import inventory
from governance.telemetry.management.importing import opened, refusing, told


class Command(BaseCommand):
    help = "Take in node, card_model, cards; a model that the catalogue lacks is kept and marked."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--columns", help="node=machine,... or, without header, 0=node,...")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]

        def read() -> dict[tuple[str, str], int]:
            with opened(file) as lines:
                return inventory.read(lines, columns=options["columns"])

        rows = refusing(file, read)
        stored, by_model, unknown = refusing(
            file,
            lambda: services.import_inventory(actor=SYSTEM, rows=rows, now=clock.now()),
        )
        nodes = {node for node, _ in rows}
        with_cards = {node for (node, _), cards in rows.items() if cards}
        self.stdout.write(
            f"{len(nodes)} nodes, {len(with_cards)} with cards,"
            f" {sum(by_model.values())} cards: {told(stored)}"
        )
        for model, cards in sorted(by_model.items()):
            mark = "  not in the catalogue" if model in unknown else ""
            self.stdout.write(f"{model}: {cards}{mark}")
