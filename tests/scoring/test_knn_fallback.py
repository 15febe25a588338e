from __future__ import annotations

import numpy as np
import pytest

from retrivex.scoring.features import NAMES, UnitTable
from retrivex.scoring.knn_fallback import MIN_COVERAGE, is_mismatched

SIMILARITY = [1.5, 0.9, 0.3, -0.3, -0.9, -1.5]


def table(similarity: list[float], coverage: float) -> UnitTable:
    values = np.zeros((len(similarity), len(NAMES)))
    values[:, NAMES.index("similarity")] = similarity
    return UnitTable([], values, coverage)


def test_words_that_are_missing_make_a_mismatch() -> None:
    assert is_mismatched(table(SIMILARITY, 0.0))
    assert is_mismatched(table(SIMILARITY, MIN_COVERAGE - 0.01))
    assert not is_mismatched(table(SIMILARITY, MIN_COVERAGE))
    assert not is_mismatched(table(SIMILARITY, 1.0))


def test_equal_similarity_is_no_guide() -> None:
    assert not is_mismatched(table([0.0] * 6, 0.0))


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_choose_from_is_no_mismatch(count: int) -> None:
    assert not is_mismatched(table(SIMILARITY[:count], 0.0))
