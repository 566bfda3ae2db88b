"""The whole state into one file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.plumbing.backups import BackupError, backup


class Command(BaseCommand):
    help = "Write the whole state (database, key, uploads) to FILE; keep it as secret as these."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"].absolute()
        try:
            manifest = backup(file)
        except BackupError as refused:
            raise CommandError(str(refused)) from refused
        size = file.stat().st_size
        self.stdout.write(f"{file}: {size} bytes, state of {manifest['made_at']}")
