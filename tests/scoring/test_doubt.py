from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from retrivex.scoring.doubt import UNSURE, doubt, relation
from retrivex.scoring.features import NAMES, UnitTable

NEARNESS = [1.5, 0.9, 0.3, -0.3, -0.9, -1.5]
NOWHERE = [-0.7, -0.7, 1.4, 1.4, -0.7, -0.7]
ALIKE = np.array([0.1, 0.2, 0.2, 0.2, 0.1, 0.1])


def table(words: list[float], nearness: list[float]) -> UnitTable:
    values = np.zeros((len(words), len(NAMES)))
    values[:, NAMES.index("words")], values[:, NAMES.index("similarity")] = words, nearness
    return UnitTable([], values)


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
    assert relation(table(words, NEARNESS)) == pytest.approx(expected, abs=0.01)


def test_each_sign_counts() -> None:
    lost = table(NOWHERE, NEARNESS)
    full = 1 / (1 + math.exp(-5))
    assert doubt(lost, ALIKE, 1 - UNSURE) == pytest.approx(full)
    assert doubt(lost, ALIKE, 1 - UNSURE / 4) == pytest.approx(full / 2)
    assert doubt(lost, ALIKE, 1.0) == 0.0
    assert doubt(lost, np.array([0.1, 0.8, 0.2, 0.2, 0.1, 0.1]), 1 - UNSURE) == pytest.approx(full / 2)
    assert doubt(table(NEARNESS, NEARNESS), ALIKE, 0.0) == pytest.approx(0.0, abs=1e-9)


def test_where_everything_is_equally_near_nearness_is_no_guide() -> None:
    assert doubt(table(NOWHERE, [0.0] * 6), ALIKE, 0.0) == 0.0


@given(
    arrays(np.float64, (7, 2), elements=st.floats(-12, 12)),
    arrays(np.float64, 7, elements=st.floats(0, 1)),
    st.floats(0, 1),
)
def test_it_is_a_share(signals: np.ndarray, p: np.ndarray, confidence: float) -> None:
    lost = table(signals[:, 0].tolist(), signals[:, 1].tolist())
    assert 0.0 <= relation(lost) <= 1.0 + 1e-9
    assert 0.0 <= doubt(lost, p, confidence) <= 1.0


@pytest.mark.parametrize("p", [[], [0.3]])
def test_where_there_is_nothing_to_choose_there_is_no_doubt(p: list[float]) -> None:
    assert doubt(table(NOWHERE[: len(p)], NEARNESS[: len(p)]), np.array(p), 0.0) == 0.0
