"""What a unit is worth: its own probability and that of its surroundings, never across runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrivex.scoring.unit_value import REACHES, TORN, unit_values


@st.composite
def rows(draw: st.DrawFn) -> tuple[Any, Any]:
    size = draw(st.integers(1, 40))
    p = draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))
    joined = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return np.array(p), np.array([False, *joined[1:]])


def runs_of(joined: Any) -> list[list[int]]:
    made: list[list[int]] = []
    for at, follows in enumerate(joined.tolist()):
        if follows:
            made[-1].append(at)
        else:
            made.append([at])
    return made


@given(rows())
def test_it_is_the_mean_of_means_in_the_unit_s_own_run(row: tuple[Any, Any]) -> None:
    p, joined = row
    plain = np.zeros(len(p))
    for run in runs_of(joined):
        for at in run:
            plain[at] = np.mean([np.mean([p[j] for j in run if abs(j - at) <= reach]) for reach in REACHES])
    expected = plain / plain.max() if plain.max() > 0 else np.ones(len(p))
    assert np.allclose(unit_values(p, joined), expected)


def test_what_stands_beside_the_best_is_worth_more_than_the_same_elsewhere() -> None:
    p, joined = np.array([0.9, 0.1, 0.1]), np.array([False, True, False])
    best, beside, elsewhere = unit_values(p, joined)
    assert best == 1.0
    assert beside > elsewhere


def test_a_torn_sentence_is_worth_less_than_a_whole_one() -> None:
    p, joined = np.array([0.5, 0.5]), np.array([False, False])
    assert unit_values(p, joined, np.array([True, False])).tolist() == [TORN, 1.0]


def test_nothing_is_worth_nothing() -> None:
    assert unit_values(np.zeros(0), np.zeros(0, dtype=bool)).tolist() == []
    assert unit_values(np.zeros(2), np.array([False, True])).tolist() == [1.0, 1.0]
