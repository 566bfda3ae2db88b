"""The API is what its document says."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated


def test_document_is_made_without_a_warning() -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", "/dev/null")


def test_every_operation_has_a_name_and_a_sentence(schema: dict[str, Any]) -> None:
    silent = [
        f"{method.upper()} {path}"
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if not operation.get("description") or not operation.get("operationId")
    ]
    assert silent == []
