"""The demonstration's collectors alone, for a cluster whose other processes run elsewhere."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.plumbing.supervisor import Fallen, Supervisor
from governance.portal.demo import collectors


class Command(BaseCommand):
    help = "Play the demonstration's machines until stopped; load_demo must have run before."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", required=True, help="name by which workers reach this place")
        parser.add_argument("--bind", default="0.0.0.0", help="address to listen on")  # noqa: S104
        parser.add_argument("--port", type=int, default=9000, help="ports above it are used")

    def handle(self, *args: Any, **options: Any) -> None:
        supervisor = Supervisor(
            cwd=settings.ROOT, logs=settings.DATA_DIR / "logs", say=self.stderr.write
        )
        place = collectors.Place(options["host"], options["bind"], options["port"])
        try:
            for program in collectors.programs(settings.DATA_DIR / "demo", place):
                supervisor.start(program)
            while True:
                supervisor.wait_until(lambda: False, 3_600)
        except Fallen as fallen:
            raise CommandError(str(fallen)) from fallen
        except KeyboardInterrupt:
            self.stderr.write("stopping")
        finally:
            supervisor.stop()
