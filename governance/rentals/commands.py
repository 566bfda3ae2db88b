"""Commands that answer from rules alone: a JSON file in, an answer out, no database."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.rentals.domain.reading import Faults, load_json


class RulesCommand(BaseCommand):
    """Reads FILE.json and prints the answer; a line per fault and status 1 if refused."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.json", help="the description; - reads stdin")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["file"]
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
            data = load_json(text)
            answer = self.answer(data, options)
        except OSError as error:
            self.refuse([f"{name}: cannot be read: {error.strerror}"])
        except UnicodeDecodeError:
            self.refuse([f"{name}: not a text in UTF-8"])
        except Faults as refused:
            self.refuse([f"{name}: {place}: {text}" for place, text in refused.faults])
        if options["json"]:
            self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2, allow_nan=False))
        else:
            self.show(data, answer)

    def refuse(self, lines: list[str]) -> None:
        for line in lines:
            self.stderr.write(line)
        sys.exit(1)

    def answer(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The answer as JSON values; raises `Faults`."""
        raise NotImplementedError

    def show(self, data: Any, answer: dict[str, Any]) -> None:
        """The answer for a person."""
        raise NotImplementedError
