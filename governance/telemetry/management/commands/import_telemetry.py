"""Backfill of a recorded series or a dump."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.kernel.policy import SYSTEM
from governance.plumbing import clock
from governance.telemetry import services
from governance.telemetry.domain.page import parse_page
from governance.telemetry.domain.sources import Source
from governance.telemetry.management.importing import refusing

FORMATS = (
    "csv",
    "nvidia-smi-xml",
    "nvidia-smi-csv",
    "dcgm",
    "npu-smi",
    "npu-exporter",
    "rocm-smi-json",
    "amd-smi-json",
    "jsonl",
)
MOST_ROWS = 5_000_000


class Command(BaseCommand):
    help = (
        "Take in a recorded series (csv: timestamp, card and any of bandwidth_share,"
        " gpu_duty_share, sm_share, ...) or a dump. The file is read by the collector's own"
        " readers, so a backfill gives the rows that a pull would have given."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--format", required=True, choices=FORMATS)
        parser.add_argument(
            "--source",
            choices=[source.name.lower() for source in Source],
            help="how bandwidth was read, which sets the fidelity [unknown: never flags]",
        )
        parser.add_argument("--node", help="name of the node [the file's name]")
        parser.add_argument("--card", help="name of the card, where the file has no card column")
        parser.add_argument("--timezone", help="zone of times without offset")
        parser.add_argument("--scale", choices=["percent", "share"], help="of shares without unit")
        parser.add_argument("--columns", help="timestamp=time,... or, without header, 0=timestamp")
        parser.add_argument("--at", help="when a dump without time was taken, ISO 8601")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        node = options["node"] or file.stem[:120]
        now = clock.now()
        body = self._parsed(file, node, options)
        page = refusing(
            file,
            lambda: parse_page(body, now_minute=int(now.timestamp()) // 60, max_rows=MOST_ROWS),
        )
        [receipt] = refusing(
            file, lambda: services.import_pages(actor=SYSTEM, node=node, pages=[page], now=now)
        )
        self.stdout.write(
            f"{node}: {len(page.cards)} cards, {receipt.stored} minutes stored,"
            f" {receipt.repeated} there already, {receipt.clashes} clashes"
        )
        for reason, count in sorted(receipt.rejected.items()):
            self.stdout.write(f"left out, {reason}: {count}")

    def _parsed(self, file: Path, node: str, options: dict[str, Any]) -> bytes:
        command = [sys.executable, "-m", "collector", "parse", str(file.absolute())]
        command += ["--format", options["format"], "--node", node]
        named = {
            "--metric-source": options["source"],
            "--card": options["card"],
            "--timezone": options["timezone"],
            "--scale": options["scale"],
            "--columns": options["columns"],
            "--at": options["at"],
        }
        for option, value in named.items():
            if value is not None:
                command += [option, value]
        done = subprocess.run(command, cwd=settings.ROOT, capture_output=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise CommandError(lines[-1] if lines else f"{file}: could not be read")
        return done.stdout
