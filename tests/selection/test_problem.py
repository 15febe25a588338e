"""The selection against brute force, and what each of its terms does."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import candidate_rows

from retrivex import RetrivexError
from retrivex.selection import greedy
from retrivex.selection.problem import Limits, Problem, Selection
from retrivex.selection.solve import Method, solve


def select(
    row: Problem, budget: int, run_cost: float = 0.0, max_runs: int | None = None, method: Method = "exact"
) -> Selection:
    return solve(replace(row, run_cost=run_cost), Limits(budget, max_runs), method)


def fill(
    row: Problem, chosen: tuple[int, ...], budget: int, run_cost: float = 0.0, max_runs: int | None = None
) -> tuple[int, ...]:
    return greedy.fill(replace(row, run_cost=run_cost), chosen, Limits(budget, max_runs))


run_costs = st.sampled_from([0.0, 0.2, 0.75, 3.0])
run_limits = st.sampled_from([None, None, 1, 2, 3])


def measure(row: Problem, chosen: tuple[int, ...], run_cost: float) -> tuple[float, int, int]:
    """Value, tokens and runs of a set, from the definition."""
    opens = [i for i in chosen if not (row.joined[i] and i - 1 in chosen)]
    value = sum(row.gains[i] for i in chosen) - run_cost * len(opens)
    tokens = sum(row.costs[i] for i in chosen) + sum(row.openings[i] for i in opens)
    return value, tokens, len(opens)


def brute_force(row: Problem, budget: int, run_cost: float, max_runs: int | None) -> float:
    best = 0.0
    for size in range(1, len(row) + 1):
        for chosen in combinations(range(len(row)), size):
            value, tokens, runs = measure(row, chosen, run_cost)
            if tokens <= budget and (max_runs is None or runs <= max_runs):
                best = max(best, value)
    return best


@try_examples(1500)
@given(candidate_rows(), st.integers(0, 45), run_costs, run_limits)
def test_exact_is_worth_what_brute_force_finds(
    row: Problem, budget: int, run_cost: float, max_runs: int | None
) -> None:
    made = select(row, budget, run_cost=run_cost, max_runs=max_runs)
    value, tokens, runs = measure(row, made.chosen, run_cost)
    assert tokens <= budget
    assert max_runs is None or runs <= max_runs
    assert made.proven
    assert (made.value, made.tokens) == (pytest.approx(value, abs=1e-8), tokens)
    # values that differ by no more than 1e-9 count as equal
    assert value == pytest.approx(brute_force(row, budget, run_cost, max_runs), abs=1e-8)
    assert made.bound == pytest.approx(value, abs=1e-8)


@try_examples(1500)
@given(candidate_rows(max_size=25), st.integers(0, 120), run_costs, run_limits)
def test_greedy_keeps_the_rules_and_is_never_worth_more(
    row: Problem, budget: int, run_cost: float, max_runs: int | None
) -> None:
    greedy = select(row, budget, run_cost=run_cost, max_runs=max_runs, method="greedy")
    exact = select(row, budget, run_cost=run_cost, max_runs=max_runs)
    value, tokens, runs = measure(row, greedy.chosen, run_cost)
    assert tokens <= budget
    assert max_runs is None or runs <= max_runs
    assert (greedy.value, greedy.tokens) == (pytest.approx(value), tokens)
    assert exact.value >= value - 1e-8
    assert not greedy.proven


@try_examples(1000)
@given(candidate_rows(max_size=20), st.integers(0, 90), run_costs, run_limits)
def test_filling_only_adds_keeps_the_budget_and_leaves_nothing_that_fits(
    row: Problem, budget: int, run_cost: float, max_runs: int | None
) -> None:
    chosen = select(row, budget, run_cost=run_cost, max_runs=max_runs).chosen
    filled = fill(row, chosen, budget, run_cost=run_cost, max_runs=max_runs)
    _, tokens, runs = measure(row, filled, run_cost)
    assert set(chosen) <= set(filled)
    assert tokens <= budget
    assert max_runs is None or runs <= max_runs
    for i in set(range(len(row))) - set(filled):
        _, more, opened = measure(row, tuple(sorted({*filled, i})), run_cost)
        fits = more <= budget and (max_runs is None or opened <= max_runs)
        assert not (fits and row.gains[i] > 0), (i, filled)


@given(candidate_rows(), st.integers(0, 45), run_costs)
def test_the_same_row_gives_the_same_choice(row: Problem, budget: int, run_cost: float) -> None:
    assert select(row, budget, run_cost=run_cost) == select(row, budget, run_cost=run_cost)


ROW = Problem(costs=[5, 5, 5], openings=[1, 1, 1], gains=[1.0, 0.4, 0.9], joined=[False, True, True])


@pytest.mark.parametrize(
    ("budget", "said", "chosen"),
    [
        (12, {"run_cost": 0.2}, (0, 2)),
        (16, {"run_cost": 0.2}, (0, 1, 2)),
        (16, {"run_cost": 0.2, "max_runs": 1}, (0, 1, 2)),
        (12, {"run_cost": 0.2, "max_runs": 1}, (0, 1)),
        (12, {"run_cost": 0.6}, (0, 1)),
        (5, {}, ()),
        (0, {}, ()),
    ],
)
def test_small_examples(budget: int, said: dict[str, Any], chosen: tuple[int, ...]) -> None:
    assert select(ROW, budget, **said).chosen == chosen


def test_a_harmful_candidate_is_taken_where_it_joins_two_runs() -> None:
    row = Problem(costs=[1, 1, 1], openings=[0, 0, 0], gains=[1.0, -0.1, 1.0], joined=[False, True, True])
    assert select(row, 3, run_cost=0.5).chosen == (0, 1, 2)
    assert select(row, 3, run_cost=0.05).chosen == (0, 2)


def plainly_filled(row: Problem, chosen: tuple[int, ...], budget: int, run_cost: float) -> tuple[int, ...]:
    """The best that fits, again and again; for rows in which opening a run costs no tokens."""
    taken = set(chosen)
    while True:
        left = budget - measure(row, tuple(sorted(taken)), 0.0)[1]
        free = [i for i in range(len(row)) if i not in taken and row.gains[i] > 0 and row.costs[i] <= left]
        if not free:
            return tuple(sorted(taken))

        def worth(i: int) -> float:
            opened = (
                1 - (row.joined[i] and i - 1 in taken) - (i + 1 < len(row) and row.joined[i + 1] and i + 1 in taken)
            )
            return (row.gains[i] - run_cost * opened) / max(row.costs[i], 1)

        taken.add(min(free, key=lambda i: (-worth(i), i)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [30, 200])
def test_filling_takes_the_best_that_fits_again_and_again(n: int, seed: int) -> None:
    rng = random.Random(f"{n} {seed}")
    gains = [rng.choice([-0.5, 0.1, 0.5, rng.random()]) for _ in range(n)]
    row = Problem([rng.randint(1, 9) for _ in range(n)], [0] * n, gains, [False] + [rng.random() < 0.7] * (n - 1))
    chosen = tuple(range(0, n, 17))
    for budget, run_cost in ((n, 0.2), (2 * n, 0.0)):
        assert fill(row, chosen, budget, run_cost=run_cost) == plainly_filled(row, chosen, budget, run_cost)


@pytest.mark.parametrize("more", [0, 60])
def test_what_fits_only_by_melting_into_what_is_there_is_filled_in(more: int) -> None:
    row = Problem([5, 5, 5, *[50] * more], [4] * (3 + more), [1.0] * (3 + more), [False, True, True, *[False] * more])
    assert fill(row, (0, 2), budget=19) == (0, 1, 2)
    assert fill(row, (0, 2), budget=18) == (0, 2)


def test_nothing_to_choose_from() -> None:
    empty = Problem([], [], [], [])
    assert select(empty, 10).chosen == ()
    assert fill(empty, (), 10) == ()


def test_large_rows_are_solved_and_say_whether_that_is_proven() -> None:
    n = 3000
    row = Problem([1 + i * 7 % 90 for i in range(n)], [3] * n, [(i * 37 % 101) / 100 for i in range(n)],
                     [i % 5 > 0 for i in range(n)])  # fmt: skip
    made = select(row, 4000, run_cost=0.25)
    assert made.tokens <= 4000
    assert made.value <= made.bound + 1e-9
    assert made.value >= select(row, 4000, run_cost=0.25, method="greedy").value


def test_bad_calls_are_refused() -> None:
    with pytest.raises(RetrivexError, match="budget is -1: it must not be negative"):
        select(ROW, -1)
    with pytest.raises(RetrivexError, match="they must be as many"):
        Problem([1], [1, 2], [1.0], [False])
    with pytest.raises(RetrivexError, match="max_spans is 0: it must be at least 1"):
        select(ROW, 10, max_runs=0)
    for gain in (float("inf"), float("-inf"), float("nan")):
        with pytest.raises(RetrivexError, match=r"gains are \[.*\]: each must be a finite number"):
            select(Problem([5, 5], [1, 1], [0.5, gain], [False, True]), 12)
