"""The database's tables, brought to the state that this version of the code expects."""

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from governance.plumbing import locks


def outdated() -> bool:
    """Whether migrations wait to be applied."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def bring_up_to_date() -> None:
    """Apply the migrations that wait, one process at a time."""
    if not outdated():
        return
    with locks.turn("schema"):
        call_command("migrate", interactive=False, verbosity=0)
