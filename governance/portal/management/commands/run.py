"""The living system on one machine, for as long as the command runs."""

import io
import sys
from collections.abc import Iterator
from typing import Any

import httpx
from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command

from governance.accounts import queries as accounts
from governance.plumbing import schema, static
from governance.plumbing.models import Heartbeat
from governance.plumbing.supervisor import LOOPBACK, Fallen, Program, Supervisor
from governance.plumbing.tasks import QUEUES
from governance.portal.demo import collectors
from governance.portal.demo.cast import PASSWORD, PEOPLE

READY_SECONDS = 180
ANSWER_SECONDS = 5
CELERY = ("-m", "celery", "-A", "governance.config.celery")


class Command(BaseCommand):
    help = "Start everything and keep it up until Ctrl-C (PORT, DATA_DIR, DEMO are honoured)."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.address = f"http://127.0.0.1:{settings.PORT}"
        supervisor = Supervisor(cwd=settings.ROOT, logs=settings.DATA_DIR / "logs", say=self.say)
        try:
            self.prepare()
            for program in self.programs():
                supervisor.start(program)
            if settings.DEMO:
                place = collectors.Place(LOOPBACK, LOOPBACK, settings.PORT)
                for program in collectors.programs(settings.DATA_DIR / "demo", place):
                    supervisor.start(program)
            self.say("waiting until all is healthy")
            if not supervisor.wait_until(self.ready, READY_SECONDS):
                raise CommandError(f"not healthy after {READY_SECONDS} s: {self.health()}")
            self.welcome()
            while True:
                supervisor.wait_until(lambda: False, 3_600)
        except Fallen as fallen:
            raise CommandError(str(fallen)) from fallen
        except KeyboardInterrupt:
            self.say("stopping")
        finally:
            supervisor.stop()

    def say(self, line: str) -> None:
        self.stderr.write(line)

    def prepare(self) -> None:
        """Tables, static files, and on the first run the demo organisation."""
        schema.bring_up_to_date()
        Heartbeat.objects.filter(name="heartbeat").delete()
        static.bring_up_to_date()
        if settings.DEMO:
            call_command("load_demo", stdout=io.StringIO())

    def programs(self) -> Iterator[Program]:
        """In the order of their start."""
        python = sys.executable
        yield Program(
            "web",
            [
                *(python, "-m", "gunicorn", "governance.config.wsgi", "--preload"),
                *("--bind", f"127.0.0.1:{settings.PORT}", "--workers", "2", "--threads", "4"),
                "--no-control-socket",
                *("--worker-tmp-dir", str(settings.DATA_DIR), "--graceful-timeout", "5"),
            ],
        )
        yield Program(
            "worker",
            [
                *(python, *CELERY, "worker", "--queues", ",".join(QUEUES), "--concurrency", "2"),
                *("--loglevel", "INFO", "--without-gossip", "--without-mingle"),
            ],
            patience=30,
        )
        yield Program(
            "beat",
            [
                *(python, *CELERY, "beat", "--loglevel", "INFO", "--pidfile", ""),
                *("--schedule", str(settings.DATA_DIR / "beat-schedule")),
            ],
        )

    def health(self) -> str:
        """What /readyz answers, as text."""
        try:
            answer = httpx.get(f"{self.address}/readyz", timeout=ANSWER_SECONDS)
        except httpx.TransportError as error:
            return str(error)
        return f"{answer.status_code} {answer.text[:500]}"

    def ready(self) -> bool:
        return self.health().startswith("200 ")

    def welcome(self) -> None:
        """The address, and the demo's logins where there is a demo."""
        self.stdout.write(f"Compute Ledger runs at {self.address}/ (Ctrl-C stops it)")
        if settings.DEMO:
            width = max(len(person.email) for person in PEOPLE)
            for person in PEOPLE:
                if person.is_shown:
                    self.stdout.write(f"  {person.email:<{width}}  {PASSWORD}")
        elif not accounts.anybody():
            self.stdout.write(
                "  Nobody can sign in yet. The first person, in another terminal with the same "
                "DATA_DIR:\n  .venv/bin/python manage.py createsuperuser"
            )
        self.stdout.flush()
