"""What must stay as it is: the presets named after a version, and calls without a question.

`tests/golden/presets.json` has the inputs and what was composed of them. `published` is as it was first; the others
were recorded anew when the choice became what is worth most per token first: of "0.2" the coefficients and the
confidence stayed. `support/preset_cases.py` wrote it.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.preset_cases import compose_case, load_golden, summarize

GOLDEN = load_golden()
CASES = GOLDEN["cases"]
NUMBERS = ("scores", "values", "confidence")
ROUNDING = 2e-6  # the golden has 6 digits


@pytest.mark.parametrize("case", CASES, ids=[f"{case['preset']}: {case['name']}" for case in CASES])
def test_a_preset_composes_as_it_did(case: dict[str, Any]) -> None:
    made, golden = summarize(compose_case(case, GOLDEN["documents"])), case["composed"]
    for name, expected in golden.items():
        assert made[name] == (pytest.approx(expected, abs=ROUNDING) if name in NUMBERS else expected), name


def test_every_promise_has_cases() -> None:
    kinds = [(case["preset"], case["question"] is not None, case["embedded"]) for case in CASES]
    both = [(question, embedded) for question in (True, False) for embedded in (True, False)]
    assert {("0.2", *kind) for kind in both} <= set(kinds)
    assert {("balanced", False, True), ("balanced", False, False)} <= set(kinds)
    assert {preset for preset, _, _ in kinds} == {"0.2", "balanced", "published"}
    # a default with a question is free to change
    assert not any(preset == "balanced" and question for preset, question, _ in kinds)


def test_the_documents_are_clean_prose() -> None:
    """Every chunk ends with a sentence: where sentences end in markup or wrapped lines is free to change."""
    for texts in GOLDEN["documents"].values():
        for text in texts:
            assert text.rstrip().endswith(".")
            assert "\n" not in text.rstrip()
