"""What passages are worth before they are placed."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.passages import ids, passage

from retrivex import Reorderer, RetrivexError
from retrivex.reorder import normalise_scores

any_scores = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=10)
METHODS = st.sampled_from(["none", "min_max", "z_score", "softmax"])

MIXED = [
    passage("a", 0.5, timestamp=100, section_index=4, source_reliability=0.1),
    passage("b", 0.6, timestamp=300, section_index=0),
    passage("c", 0.4, timestamp=200, source_reliability=0.9),
]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({}, [0.5, 0.6, 0.4]),
        ({"similarity": 0, "time": 1}, [0, 1, 0.5]),
        ({"similarity": 0, "section": 1}, [1, 0, 0]),
        ({"similarity": 0, "source_reliability": 2}, [0, 0, 2]),
        ({"similarity": 2, "time": 0.5, "source_reliability": 1}, [1, 1.7, 2.05]),
    ],
)
def test_weights(weights: dict[str, float], expected: list[float]) -> None:
    made = Reorderer(strategy="front_first", weights=weights).reorder_with_diagnostics(MIXED)
    assert [why.priority_score for why in made.explanations] == pytest.approx(expected)
    best_first = [MIXED[i] for i in sorted(range(3), key=lambda i: -expected[i])]
    assert Reorderer(strategy="score_desc", weights=weights).reorder(MIXED) == best_first


def test_normalisation_makes_scores_comparable_with_metadata() -> None:
    bm25 = [passage("a", 21.0, timestamp=1), passage("b", 20.0, timestamp=2), passage("c", 1.0, timestamp=3)]
    plain, scaled = ({"weights": {"time": 0.2}}, {"weights": {"time": 0.2}, "score_normalization": "min_max"})
    assert ids(Reorderer(strategy="score_desc", **plain).reorder(bm25)) == "abc"
    assert ids(Reorderer(strategy="score_desc", **scaled).reorder(bm25)) == "bac"


@pytest.mark.parametrize(
    ("method", "expected"),
    [("none", [1, 3, 2]), ("min_max", [0, 1, 0.5]), ("z_score", [-1.224744871, 1.224744871, 0]),
     ("softmax", [0.09003057, 0.66524096, 0.24472847])],
)  # fmt: skip
def test_normalised_scores(method: Any, expected: list[float]) -> None:
    assert normalise_scores([1, 3, 2], method) == pytest.approx(expected)


def test_temperature_sharpens_or_evens_out() -> None:
    sharp, even = (normalise_scores([1, 2], "softmax", temperature)[1] for temperature in (0.1, 100))
    assert sharp > 0.99
    assert even < 0.51
    options: dict[str, Any] = {"strategy": "front_first", "score_normalization": "softmax"}
    made = Reorderer(softmax_temperature=0.1, **options).reorder_with_diagnostics([passage("a", 1), passage("b", 2)])
    assert made.explanations[1].priority_score == pytest.approx(sharp)


@given(any_scores, METHODS)
@example([1e308, -1e308, 0.0], "min_max")
@example([1e308, -1e308, 0.0], "z_score")
@example([5e-324, 0.0, 1e-320], "z_score")
def test_normalised_scores_are_finite_and_keep_the_order(scores: list[float], method: Any) -> None:
    made = normalise_scores(scores, method)
    assert all(map(math.isfinite, made))
    for a, b in pairwise(scores):
        x, y = made[scores.index(a)], made[scores.index(b)]
        assert (x <= y) or a > b


@pytest.mark.parametrize(("method", "value"), [("min_max", 1.0), ("z_score", 0.0), ("softmax", 1 / 3)])
def test_equal_scores(method: Any, value: float) -> None:
    # the deviation of three times 0.7 is not 0 in floating point
    assert normalise_scores([0.7, 0.7, 0.7], method) == pytest.approx([value] * 3)


def test_clamp_and_least_score_come_first() -> None:
    passages = [passage("a", 7.0), passage("b", 0.5), passage("c", -3.0)]
    made = Reorderer(strategy="score_desc", score_clamp=(0.0, 1.0), min_score=0.5).reorder_with_diagnostics(passages)
    assert ids(made.passages) == "ab"
    assert [why.score for why in made.explanations] == [1.0, 0.5]
    assert made.passages[0]["score"] == 7.0
    assert made.diagnostics.below_min_score == 1


@pytest.mark.parametrize(("scores", "method", "temperature", "message"), [
    ([1.0], "l2", 1.0, "method is 'l2': choose one of none, min_max, z_score, softmax"),
    ([1.0], ["none"], 1.0, "method is "), ([1.0], "softmax", 0, "temperature is 0"),
    ([1.0], "softmax", math.nan, "temperature is nan"), ([1.0], "softmax", None, "temperature is None"),
    (None, "none", 1.0, "scores are None"), ([math.nan], "min_max", 1.0, "scores are"),
    ([10**400], "none", 1.0, "scores are"), ("12", "min_max", 1.0, "scores are '12'"),
])  # fmt: skip
def test_scores_that_cannot_be_normalised(scores: Any, method: Any, temperature: Any, message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        normalise_scores(scores, method, temperature)
