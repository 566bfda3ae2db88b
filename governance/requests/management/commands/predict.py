"""Predict a file of runs."""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.matching.files import BadFile, predict_file


class Command(BaseCommand):
    help = "Predict speed, time and memory of the runs in a CSV file; needs no database."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="IN.csv")
        parser.add_argument("--out", required=True, metavar="OUT.csv")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            text = Path(options["file"]).read_text(encoding="utf-8-sig")
            lines = list(predict_file(text))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            self._refuse([f"{options['file']}: {error}"])
        except BadFile as bad:
            self._refuse([f"{options['file']}: {fault}" for fault in bad.faults])
        try:
            with Path(options["out"]).open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
        except OSError as error:
            self._refuse([f"{options['out']}: {error}"])

    def _refuse(self, faults: list[str]) -> None:
        for fault in faults:
            self.stderr.write(fault)
        sys.exit(1)
