"""What a sentence model says, mapped to units: small texts, a unit of five words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.properties import try_examples
from support.strategies import count_words, tile

from retrivex.merging.cutter import Fineness, UnitCutter
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.torn import EdgeRules
from retrivex.merging.units import Units
from retrivex.model.run import Run, stitch
from retrivex.rerank import ScoredSentence
from retrivex.scoring.sentences import sentence_log_odds

TEXTS = ["Ants dig deep long holes. ", "Bees sleep at night always. ", "Wasps build their paper nests. "]


def runs_of(*documents: Sequence[str]) -> list[Run]:
    return [stitch(list(tile(str(at), texts).values())).runs[0] for at, texts in enumerate(documents)]


def units_of(runs: Sequence[Run]) -> Units:
    axis = OffsetIndex(runs)
    words = np.array([count_words(text) for text in axis.texts])
    return UnitCutter(size=30).cut(axis, EdgeRules(), Fineness.full(words))


def moved(runs: Sequence[Run], *sentences: Sequence[tuple[int, int, float]]) -> NDArray[np.float64]:
    return sentence_log_odds(units_of(runs), [[ScoredSentence(*one) for one in some] for some in sentences])


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def test_half_of_the_log_odds_around_their_mean() -> None:
    made = moved(runs_of(TEXTS), [(0, 25, 0.2), (26, 53, 0.8), (54, 84, 0.5)])
    assert made == pytest.approx([logit(0.2) / 2, logit(0.8) / 2, 0.0])


def test_the_order_of_the_sentences_is_all_the_same() -> None:
    some = [(0, 25, 0.2), (26, 53, 0.8), (54, 84, 0.6)]
    assert moved(runs_of(TEXTS), some) == pytest.approx(moved(runs_of(TEXTS), some[::-1]))


def test_a_unit_has_the_mean_of_its_sentences_by_their_characters() -> None:
    runs = runs_of(TEXTS)
    parts = moved(runs, [(0, 5, 0.9), (5, 25, 0.4), (26, 53, 0.5)])
    assert parts == pytest.approx(moved(runs, [(0, 25, 0.5), (26, 53, 0.5)]))
    assert parts == pytest.approx([0, 0, 0])


def test_a_sentence_over_two_units_counts_in_both() -> None:
    made = moved(runs_of(TEXTS), [(0, 53, 0.9), (54, 84, 0.1)])
    assert made[0] == pytest.approx(made[1])
    assert made[0] > 0 > made[2]


def test_certain_models_are_not_believed_without_end() -> None:
    made = moved(runs_of(TEXTS), [(0, 25, 0.0), (26, 53, 1.0)])
    assert made == pytest.approx([logit(0.05) / 2, logit(0.95) / 2, 0])


def test_units_that_were_not_read_stay() -> None:
    runs = runs_of(TEXTS, TEXTS)
    made = moved(runs, [], [(0, 25, 0.2), (26, 30, 0.99), (54, 84, 0.8)])
    assert made == pytest.approx([0, 0, 0, logit(0.2) / 2, 0, logit(0.8) / 2])
    assert moved(runs, [], []).tolist() == [0] * 6


@try_examples(100)
@given(st.lists(st.tuples(st.integers(0, 83), st.integers(1, 84), st.floats(0, 1)), max_size=9))
def test_what_was_read_is_moved_around_zero(some: list[tuple[int, int, float]]) -> None:
    given_ = [(start, min(84, start + length), p) for start, length, p in some]
    made = moved(runs_of(TEXTS), given_)
    assert np.isfinite(made).all()
    assert made.sum() == pytest.approx(0, abs=1e-9)
    assert np.abs(made).max() <= logit(0.95)
