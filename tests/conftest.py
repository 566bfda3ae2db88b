"""Fixtures for all rooms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.test import Client, TransactionTestCase, override_settings
from rest_framework.test import APIClient

from tests import make

hypothesis.settings.register_profile(
    "house", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("house")
_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Real files of others, beside the checkout; tests that need them skip without."""
    if not _SHARED.is_dir():
        pytest.skip("no folder “shared” beside the checkout: the real files are not here")
    return _SHARED


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Workers of one run share a server and get a database each."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = f"test_{worker}_{os.getpid()}"


@pytest.fixture(autouse=True, scope="session")
def _flush_past_triggers() -> Iterator[None]:
    """Tests that commit empty all tables afterwards, append-only and partitioned ones too."""
    teardown = TransactionTestCase._fixture_teardown

    def flush(case: TransactionTestCase) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            try:
                teardown(case)
                for model in apps.get_models():
                    if not model._meta.managed:
                        cursor.execute(f'TRUNCATE "{model._meta.db_table}"')
            finally:
                cursor.execute("SET session_replication_role = DEFAULT")

    TransactionTestCase._fixture_teardown = flush  # type: ignore[method-assign]
    yield
    TransactionTestCase._fixture_teardown = teardown  # type: ignore[method-assign]


@pytest.fixture
def house(db: None) -> make.House:
    """An organisation with Alice (member), Lea (lead), Adam (approver), Fay (finance), Olga
    (operator), Ada (admin), Axel (auditor) and Oscar (member of another team)."""
    return make.house()


@pytest.fixture
def browser_of() -> object:
    """`browser_of(user)` is a signed-in page client."""

    def sign_in(user: object) -> Client:
        client = Client()
        client.force_login(user)  # type: ignore[arg-type]
        return client

    return sign_in


@pytest.fixture
def api_of() -> object:
    """`api_of(user)` is a signed-in API client."""

    def sign_in(user: object) -> APIClient:
        client = APIClient()
        client.force_authenticate(user)
        return client

    return sign_in


@pytest.fixture(autouse=True, scope="session")
def _static_files_as_they_lie() -> Iterator[None]:
    """Pages render without collectstatic."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}):
        settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
        yield
