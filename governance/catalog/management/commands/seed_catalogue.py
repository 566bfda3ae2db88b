"""Bring the packaged catalogue in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from governance.catalog.services import seed_catalogue
from governance.kernel.policy import SYSTEM


class Command(BaseCommand):
    help = "Bring the packaged cards, figures and vendors into the database; again adds nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        added = seed_catalogue(actor=SYSTEM)
        self.stdout.write(", ".join(f"{count} {kind}" for kind, count in added.items()) + " new")
