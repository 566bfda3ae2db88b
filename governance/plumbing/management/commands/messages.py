"""Extract, compile and check the message catalogues (needs no server)."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from governance.plumbing.catalogues import Catalogues


class Command(BaseCommand):
    help = "extract [ROOM ...] merges new texts, compile writes .mo files, check lists faults."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=["extract", "compile", "check"])
        parser.add_argument("rooms", nargs="*")

    def handle(self, *args: Any, **options: Any) -> None:
        catalogues = Catalogues(settings.ROOT)
        if options["act"] == "extract":
            for room in options["rooms"] or catalogues.rooms():
                self.stderr.write(f"{room}: {catalogues.update(room)} texts")
        elif options["act"] == "compile":
            catalogues.compile()
        else:
            faults = catalogues.faults()
            for fault in faults:
                self.stdout.write(fault)
            if faults:
                sys.exit(1)
