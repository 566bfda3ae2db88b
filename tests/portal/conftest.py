"""The demonstration as a fixture: it is the one data set in which everything hangs together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction

from governance.accounts import queries
from governance.plumbing import clock
from governance.portal.demo import load, machines
from governance.portal.demo.cast import DOMAIN


@dataclass(frozen=True)
class Demo:
    """When the demonstration was loaded, and its people."""

    now: datetime

    def person(self, name: str) -> Any:
        return queries.people().get(email=f"{name}@{DOMAIN}")


@pytest.fixture(scope="module")
def loaded(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    """Three days of readings and two judged nights, loaded once for a module's tests."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch, transaction.atomic():
        patch.setattr(machines, "HISTORY_DAYS", 3)
        patch.setattr(load, "NIGHTS", 2)
        now = clock.now()
        folder = tmp_path_factory.mktemp("demo")
        load.load(folder=folder, web_port=18000, now=now, say=lambda line: None)
        yield Demo(now)
        transaction.set_rollback(True)


@pytest.fixture
def demo(db: None, loaded: Demo, django_db_blocker: Any) -> Iterator[Demo]:
    """The loaded demonstration; what a test changes is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield loaded
        transaction.set_rollback(True)
