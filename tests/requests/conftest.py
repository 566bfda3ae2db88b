"""Requests on a small market: three offers, a month's budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests import make
from tests.requests import market


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 12, 1, 2, tzinfo=UTC)


@pytest.fixture
def stage(house: make.House, now: datetime) -> market.Stage:
    """The house with offers to match against and a budget of 10,000 CNY for its project."""
    return market.stage(house, now)


@pytest.fixture
def soon(now: datetime) -> datetime:
    return now + timedelta(hours=1)
