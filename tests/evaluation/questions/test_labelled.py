from __future__ import annotations

from typing import Any

import pytest

from retrivex import RetrivexError
from retrivex.evaluation.questions.evidence import Evidence
from retrivex.evaluation.questions.labelled import EvidenceFinder

BEES = "Bees live in hives.\nThey sleep at night. Bees eat honey. Wasps sleep, too."
ANTS = "Ants work. They eat all kinds of things. Bees eat honey."
FINDER = EvidenceFinder({"bees": BEES, "ants": ANTS})


@pytest.mark.parametrize(
    ("claim", "start", "end"),
    [
        ({"doc_id": "bees", "quote": "They sleep at night."}, 20, 40),
        ({"quote": "IN HIVES.  they sleep"}, 10, 30),
        ("IN HIVES.  they sleep", 10, 30),
        ({"doc_id": "bees", "start": 3, "end": 7}, 3, 7),
        ({"doc_id": "bees", "quote": "Bees eat honey."}, 41, 56),
    ],
)
def test_evidence_is_found(claim: Any, start: int, end: int) -> None:
    assert FINDER.find(claim) == Evidence("bees", start, end)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (7, "must be one of"),
        ("Hornets", "is not in any document"),
        ({}, "must be one of"),
        ({"start": 1, "end": 2}, "must be one of"),
        ({"quote": 7}, "must be one of"),
        ({"quote": "..."}, "must hold words"),
        ({"quote": "Bees eat honey."}, "stands at 2 places"),
        ({"doc_id": "bees", "quote": "sleep"}, "stands at 2 places"),
        ({"quote": "Hornets"}, "is not in any document"),
        ({"doc_id": "bees", "quote": "Ants work."}, "is not in document 'bees'"),
        ({"doc_id": "wasps", "quote": "sleep"}, "document 'wasps', which is not there"),
        ({"doc_id": "bees", "start": 5, "end": 5}, "start < end <= 74"),
        ({"doc_id": "bees", "start": 5, "end": 75}, "start < end <= 74"),
        ({"doc_id": "bees", "start": "5", "end": 7}, "whole numbers"),
        ({"doc_id": "bees"}, "whole numbers"),
    ],
)
def test_evidence_that_cannot_be_placed_is_refused(claim: Any, message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        FINDER.find(claim)
