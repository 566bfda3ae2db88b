"""The demonstration as a fixture: it is the one data set in which everything hangs together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from governance.plumbing import clock
from governance.portal.demo import load, machines


@dataclass(frozen=True)
class Demo:
    """The loaded demonstration: its company and when it was loaded."""

    now: datetime

    def person(self, name: str) -> Any:
        from governance.accounts import queries
        from governance.portal.demo.cast import DOMAIN

        return queries.people().get(email=f"{name}@{DOMAIN}")


@pytest.fixture
def demo(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Demo:
    """The demonstration with three days of readings."""
    monkeypatch.setattr(machines, "HISTORY_DAYS", 3)
    now = clock.now()
    load.load(folder=tmp_path, web_port=18000, now=now, say=lambda line: None)
    return Demo(now)
