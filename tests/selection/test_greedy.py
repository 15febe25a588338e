"""The choice: it keeps every limit, leaves nothing that fits, and loses little against the best set of all."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import candidate_rows

from retrivex import RetrivexError
from retrivex.selection.greedy import choose
from retrivex.selection.problem import Limits, Problem, fits, opens, tokens_of

limits = st.builds(Limits, st.integers(0, 45), st.sampled_from([None, None, 1, 2, 3]), st.sampled_from([None, 8, 20]))


def row(costs: list[int], values: list[float], joined: list[bool], openings: int = 1, documents: Any = None) -> Problem:
    size = len(costs)
    return Problem(
        np.array(costs),
        np.full(size, openings),
        np.array(values, dtype=np.float64),
        np.array(joined, dtype=np.bool_),
        np.zeros(size, dtype=np.int64) if documents is None else np.array(documents),
    )


def total_gain(problem: Problem, chosen: Any) -> float:
    return sum(float(problem.values[i]) * int(problem.costs[i]) for i in chosen)


def best_gain(problem: Problem, limit: Limits) -> float:
    """Worth of the best set of all, by trying each."""
    sets = (chosen for size in range(len(problem) + 1) for chosen in combinations(range(len(problem)), size))
    return max(total_gain(problem, chosen) for chosen in sets if fits(problem, chosen, limit))


@try_examples(1000)
@given(candidate_rows(), limits)
def test_it_keeps_every_limit_and_takes_nothing_worthless(problem: Problem, limit: Limits) -> None:
    order = choose(problem, limit)
    assert fits(problem, sorted(order), limit)
    assert len(set(order)) == len(order)
    assert all(problem.values[i] > 0 for i in order)
    assert choose(problem, limit) == order


@try_examples(1000)
@given(candidate_rows(), st.integers(0, 45))
def test_nothing_that_fits_beside_the_chosen_is_left(problem: Problem, budget: int) -> None:
    order = choose(replace(problem, openings=np.zeros_like(problem.openings)), Limits(budget))
    left = budget - sum(int(problem.costs[i]) for i in order)
    assert all(problem.costs[i] > left for i in range(len(problem)) if i not in order and problem.values[i] > 0)


@try_examples(300)
@given(candidate_rows(), limits, st.data())
def test_what_is_kept_comes_first_and_stays(problem: Problem, limit: Limits, data: st.DataObject) -> None:
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(problem))))) if len(problem) else [])
    order = choose(problem, limit, kept)
    assert order[: len(kept)] == kept
    if fits(problem, kept, limit):
        assert fits(problem, sorted(order), limit)


def test_it_loses_little_against_the_best_set() -> None:
    """The best set, by brute force, is a yardstick: the simple choice has 97 % of its gain in the mean."""
    rng = random.Random(0)
    shares = []
    for _ in range(200):
        size = rng.randrange(4, 11)
        made = row(
            [rng.randrange(20, 60) for _ in range(size)],
            [rng.random() ** 3 for _ in range(size)],
            [bool(at) and rng.random() < 0.7 for at in range(size)],
            openings=6,
        )
        limit = Limits(rng.randrange(80, 240))
        best = best_gain(made, limit)
        shares.append(total_gain(made, choose(made, limit)) / best if best else 1.0)
    assert np.mean(shares) > 0.97


@pytest.mark.parametrize(
    ("budget", "kept", "order"),
    [
        (12, (), [2, 0]),  # each opens a span
        (16, (), [2, 0, 1]),  # the middle joins them: the opening of the third is paid back
        (12, (1,), [1, 2]),
        (5, (), []),
    ],
)
def test_small_examples(budget: int, kept: tuple[int, ...], order: list[int]) -> None:
    assert choose(row([5, 5, 5], [0.9, 0.5, 1.0], [False, True, True]), Limits(budget), kept) == order


def test_a_span_has_to_earn_its_opening() -> None:
    # the short one is worth more by the token, and not with what opening a span at it takes
    made = row([2, 20], [1.0, 0.8], [False, False], openings=6)
    assert choose(made, Limits(26)) == [1]
    dear = replace(row([20, 20, 20], [1.0, 0.6, 0.7], [False, True, False]), span_price=4.0)
    assert choose(dear, Limits(41)) == [0, 1]
    assert choose(replace(dear, span_price=0.0), Limits(42)) == [0, 2]


def test_a_document_s_limit_leaves_room_for_others() -> None:
    made = row([5, 5, 5], [1.0, 0.9, 0.5], [False, False, False], documents=[0, 0, 1])
    assert choose(made, Limits(20, per_document=6)) == [0, 2]


def test_tokens_and_openings_follow_the_definition() -> None:
    made = row([5, 6, 7, 8], [1.0] * 4, [False, True, True, False], openings=2)
    assert opens(made, (0, 1, 3)) == [True, False, True]
    assert tokens_of(made, (0, 1, 3)) == 5 + 6 + 8 + 2 * 2
    assert tokens_of(made, (0, 2)) == 5 + 7 + 2 * 2


def test_bad_rows_are_refused() -> None:
    with pytest.raises(RetrivexError, match="give one of each per candidate"):
        Problem(*[np.zeros(size, dtype=np.int64) for size in (1, 2, 1, 1, 1)])  # type: ignore[arg-type]
    with pytest.raises(RetrivexError, match="must be a finite number"):
        row([1], [float("nan")], [False])
