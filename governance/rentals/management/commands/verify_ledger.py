"""`manage.py verify_ledger`: recompute ledger, budgets, charges and roll-up; say what differs."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from governance.rentals import queries


class Command(BaseCommand):
    help = "Recomputes ledger, budgets and charges; exit status 1 and a line per difference."

    def handle(self, *args: Any, **options: Any) -> None:
        faults = queries.faults()
        for fault in faults:
            self.stdout.write(fault)
        if faults:
            sys.exit(1)
        self.stdout.write("ledger: balanced; budgets, charges and daily costs agree with it")
