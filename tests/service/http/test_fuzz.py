"""Requests made from the OpenAPI document: no failure of the service, and every answer as the document says."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.service import fuzz_service

pytestmark = pytest.mark.integration

CASES = 2000


def test_every_answer_is_as_the_document_says(tmp_path: Path) -> None:
    """Right and wrong requests, 2,000 of them, spread over the operations; `make fuzz-service` sends 50,000."""
    pytest.importorskip("schemathesis")
    made = fuzz_service(CASES, tmp_path)
    assert made.violations == []
    assert made.done >= CASES
    assert {"200", "422"} <= made.statuses.keys()
    without = [name for name, counts in made.operations.items() if not any(status < "300" for status in counts)]
    assert without == [], "no right answer was looked at"
    # what takes nothing cannot be asked wrongly
    assert [why for why in made.left_out if not (why.startswith("GET ") and ", negative: " in why)] == []
