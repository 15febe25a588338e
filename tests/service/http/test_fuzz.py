"""Requests made from the OpenAPI document: no failure of the service, and every answer as the document says."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

pytestmark = pytest.mark.integration

Message = MutableMapping[str, Any]

CASES = int(os.environ.get("RETRIVEX_FUZZ_CASES", "2000"))


def _begun(app: Any) -> Any:
    """Return an application that has begun already: it begins and ends once, which is up to the test's client."""

    async def answer(scope: Message, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})

    return answer


def test_every_answer_is_as_the_document_says(make_client: Any) -> None:
    """2,000 cases, spread over the operations; RETRIVEX_FUZZ_CASES=50000 for more."""
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis import checks  # noqa: PLC0415
    from schemathesis.core.errors import UnsupportedSchema  # noqa: PLC0415
    from schemathesis.specs.openapi import checks as shapes  # noqa: PLC0415

    client = make_client(threads=1, queue=100, hosts=["testserver"])
    schema = schemathesis.openapi.from_asgi("/openapi.json", _begun(client.app))
    operations = [found.ok() for found in schema.get_all_operations()]
    looked_at = [
        checks.not_a_server_error,
        shapes.status_code_conformance,
        shapes.content_type_conformance,
        shapes.response_headers_conformance,
        shapes.response_schema_conformance,
    ]
    counted = 0
    for operation in operations:
        modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
        for mode in modes:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=max(1, CASES // (len(operations) * len(modes))),
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            )
            def answers(case: Any) -> None:
                nonlocal counted
                counted += 1
                case.call_and_validate(checks=looked_at)

            # what takes nothing cannot be asked wrongly, and not every schema can be turned into its opposite
            with suppress(Unsatisfiable, UnsupportedSchema):
                answers()
    assert counted >= CASES // 2
