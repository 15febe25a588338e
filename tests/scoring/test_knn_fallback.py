from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from retrivex.scoring.features import NAMES, UnitTable
from retrivex.scoring.knn_fallback import (
    CORRELATION_WEIGHT,
    COVERAGE_THRESHOLD,
    TRANSITION_WIDTH,
    correlation,
    vocabulary_mismatch,
)

NEARNESS = [1.5, 0.9, 0.3, -0.3, -0.9, -1.5]
NOWHERE = [-0.7, -0.7, 1.4, 1.4, -0.7, -0.7]


def table(words: list[float], nearness: list[float], known: float = 0.0) -> UnitTable:
    values = np.zeros((len(words), len(NAMES)))
    values[:, NAMES.index("words")], values[:, NAMES.index("similarity")] = words, nearness
    return UnitTable([], values, known)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (NOWHERE, 0.0),
        (NEARNESS, 1.0),
        ([-near for near in NEARNESS], 1.0),  # words correct nearness
        ([0.0] * 6, 0.0),
        # little as a whole (0.17) and over the nearer half (0.21), but the nearest has most words
        ([1.7, -1.5, 1.0, -0.9, -0.3, 0.6], 0.71),
        # and here words order the nearer half only
        ([0.5, 0.0, -0.5, -0.5, 0.0, 0.5], 1.0),
    ],
)
def test_relation_of_words_and_nearness(words: list[float], expected: float) -> None:
    assert correlation(table(words, NEARNESS)) == pytest.approx(expected, abs=0.01)


def test_each_sign_counts() -> None:
    assert vocabulary_mismatch(table(NOWHERE, NEARNESS, 0.7)) > 0.99
    assert vocabulary_mismatch(table(NOWHERE, NEARNESS, COVERAGE_THRESHOLD)) == pytest.approx(0.5)
    some = [1.7, -1.5, 1.0, -0.9, -0.3, 0.6]  # words have to do with what is near
    assert vocabulary_mismatch(
        table(some, NEARNESS, COVERAGE_THRESHOLD - CORRELATION_WEIGHT * correlation(table(some, NEARNESS)))
    ) == pytest.approx(0.5)
    assert vocabulary_mismatch(table(NEARNESS, NEARNESS, 0.7)) == 0.0
    assert vocabulary_mismatch(table(NOWHERE, NEARNESS, 1.75)) == 0.0  # nothing of the question is missing


def test_a_little_doubt_is_none() -> None:
    assert 0.01 < vocabulary_mismatch(table(NOWHERE, NEARNESS, COVERAGE_THRESHOLD + 4.5 * TRANSITION_WIDTH)) < 0.02
    assert vocabulary_mismatch(table(NOWHERE, NEARNESS, COVERAGE_THRESHOLD + 5 * TRANSITION_WIDTH)) == 0.0


def test_where_everything_is_equally_near_nearness_is_no_guide() -> None:
    assert vocabulary_mismatch(table(NOWHERE, [0.0] * 6)) == 0.0


@given(arrays(np.float64, (7, 2), elements=st.floats(-12, 12)), st.floats(0, 1.75))
def test_it_is_a_share(signals: np.ndarray, known: float) -> None:
    lost = table(signals[:, 0].tolist(), signals[:, 1].tolist(), known)
    assert 0.0 <= correlation(lost) <= 1.0 + 1e-9
    assert 0.0 <= vocabulary_mismatch(lost) <= 1.0


@pytest.mark.parametrize("count", [0, 1])
def test_where_there_is_nothing_to_choose_there_is_no_doubt(count: int) -> None:
    assert vocabulary_mismatch(table(NOWHERE[:count], NEARNESS[:count])) == 0.0
