"""The whole state out of one file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.plumbing import schema
from governance.plumbing.backups import BackupError, restore


class Command(BaseCommand):
    help = "Take the state of FILE in; a database that is not empty is refused without --replace."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--replace", action="store_true", help="drop what is there")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"].absolute()
        try:
            manifest = restore(file, replace=options["replace"])
        except BackupError as refused:
            raise CommandError(str(refused)) from refused
        schema.bring_up_to_date()
        self.stdout.write(f"restored the state of {manifest['made_at']}")
