"""Whatever is sent to the API, it answers by its document and never with a 5xx."""

from __future__ import annotations

import logging

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from tests import make

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


def test_every_operation_keeps_to_its_document() -> None:
    """50 drawn requests an operation, by somebody with every role, so no refusal hides a fault."""
    logging.disable(logging.ERROR)
    token = make.service_token(make.user_with_every_role())
    schema = schemathesis.openapi.from_wsgi("/api/schema/?format=json", WSGIHandler())
    faults: list[str] = []
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(
            max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        def holds(case: schemathesis.Case) -> None:
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)

        try:
            holds()
        except (
            Exception,
            BaseExceptionGroup,
        ) as fault:  # all operations are looked at before the verdict
            causes = getattr(fault, "exceptions", (fault,))
            faults.append(f"{operation.label}: {causes[0]}"[:600])
    logging.disable(logging.NOTSET)
    assert not faults, "\n\n".join(faults)
    assert operations
