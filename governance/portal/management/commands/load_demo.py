"""Loads the demonstration organisation, or catches up where it is loaded."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from governance.plumbing import clock
from governance.portal.demo import cast, load


class Command(BaseCommand):
    help = "Load the demonstration: people, budgets, rentals and two months of simulated readings."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            load.load(
                folder=settings.DATA_DIR / "demo",
                web_port=settings.PORT,
                now=clock.now(),
                say=lambda line: self.stderr.write(f"demonstration: {line}"),
            )
        except load.Taken as taken:
            raise CommandError(str(taken), returncode=1) from taken
        for person in cast.PEOPLE:
            if person.is_shown:
                self.stdout.write(f"{person.email}  {cast.PASSWORD}")
