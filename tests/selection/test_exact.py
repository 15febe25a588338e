"""The selection with candidates that are set and caps on documents, against brute force."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import candidate_rows

from retrivex import RetrivexError
from retrivex.selection import exact, greedy
from retrivex.selection.problem import Limits, Problem, Selection
from retrivex.selection.solve import Method, solve


def choose(
    row: Problem,
    budget: int,
    run_cost: float = 0.0,
    max_runs: int | None = None,
    method: Method = "exact",
    keep: Collection[int] = (),
    caps: Sequence[int] | None = None,
) -> Selection:
    return solve(replace(row, run_cost=run_cost), Limits(budget, max_runs, caps, keep), method)


def fill(
    row: Problem, chosen: tuple[int, ...], budget: int, run_cost: float, max_runs: int | None, caps: list[int]
) -> tuple[int, ...]:
    return greedy.fill(replace(row, run_cost=run_cost), chosen, Limits(budget, max_runs, caps))


run_costs = st.sampled_from([0.0, 0.2, 0.75, 3.0])
run_limits = st.sampled_from([None, None, 1, 2, 3])


def measure(row: Problem, chosen: tuple[int, ...], run_cost: float) -> tuple[float, int, int, list[int]]:
    """Value, tokens, runs and tokens of each document of a set, from the definition."""
    assert row.documents is not None
    opens = [i for i in chosen if not (row.joined[i] and i - 1 in chosen)]
    spent = [0] * (max(row.documents, default=0) + 1)
    for i in chosen:
        spent[row.documents[i]] += row.costs[i] + (row.openings[i] if i in opens else 0)
    return sum(row.gains[i] for i in chosen) - run_cost * len(opens), sum(spent), len(opens), spent


def keeps(row: Problem, chosen: tuple[int, ...], budget: int, max_runs: int | None, caps: list[int] | None) -> bool:
    _, tokens, runs, spent = measure(row, chosen, 0.0)
    within = caps is None or all(used <= cap for used, cap in zip(spent, caps, strict=False))
    return tokens <= budget and (max_runs is None or runs <= max_runs) and within


def brute_force(
    row: Problem, budget: int, run_cost: float, max_runs: int | None, keep: tuple[int, ...], caps: list[int] | None
) -> float | None:
    """Best value of a set that holds `keep` and keeps all limits; None where there is none."""
    worth = [
        measure(row, chosen, run_cost)[0]
        for size in range(len(row) + 1)
        for chosen in combinations(range(len(row)), size)
        if set(keep) <= set(chosen) and keeps(row, chosen, budget, max_runs, caps)
    ]
    return max(worth, default=None)


@st.composite
def filed_rows(draw: st.DrawFn, max_size: int = 9) -> Problem:
    """Rows of candidates in documents; what is joined lies in the same one."""
    row = draw(candidate_rows(max_size=max_size))
    documents: list[int] = []
    for joined in row.joined:
        documents.append(documents[-1] if joined else draw(st.integers(0, 3)))
    return replace(row, documents=documents)


def caps_of(row: Problem, draw: Any) -> list[int]:
    return [draw(st.integers(0, 20)) for _ in range(4)]


@try_examples(800)
@given(filed_rows(), st.integers(0, 45), run_costs, run_limits, st.data())
def test_caps_are_kept_and_cost_no_more_than_they_must(
    row: Problem, budget: int, run_cost: float, max_runs: int | None, data: st.DataObject
) -> None:
    caps = caps_of(row, data.draw)
    made = choose(row, budget, run_cost=run_cost, max_runs=max_runs, caps=caps)
    assert keeps(row, made.chosen, budget, max_runs, caps)
    assert made.proven
    assert made.value == pytest.approx(measure(row, made.chosen, run_cost)[0], abs=1e-8)
    assert made.value == pytest.approx(brute_force(row, budget, run_cost, max_runs, (), caps), abs=1e-7)


@try_examples(800)
@given(filed_rows(), st.integers(0, 60), run_costs, run_limits, st.booleans(), st.data())
def test_what_is_kept_is_chosen_and_the_rest_is_the_best_beside_it(
    row: Problem, budget: int, run_cost: float, max_runs: int | None, capped: bool, data: st.DataObject
) -> None:
    caps = caps_of(row, data.draw) if capped else None
    some = st.lists(st.integers(0, len(row) - 1), max_size=3, unique=True) if len(row) else st.just([])
    keep = tuple(sorted(data.draw(some)))
    said: dict[str, Any] = {"run_cost": run_cost, "max_runs": max_runs, "keep": keep, "caps": caps}
    best = brute_force(row, budget, run_cost, max_runs, keep, caps)
    if not keeps(row, keep, budget, max_runs, caps):
        with pytest.raises(RetrivexError, match="keep fewer"):
            choose(row, budget, **said)
        return
    made = choose(row, budget, **said)
    assert set(keep) <= set(made.chosen)
    assert keeps(row, made.chosen, budget, max_runs, caps)
    assert made.proven
    assert made.value == pytest.approx(best, abs=1e-7)
    assert made.bound == pytest.approx(made.value, abs=1e-7)


@try_examples(500)
@given(filed_rows(max_size=20), st.integers(0, 90), run_costs, run_limits, st.data())
def test_greedy_and_filling_keep_the_caps_too(
    row: Problem, budget: int, run_cost: float, max_runs: int | None, data: st.DataObject
) -> None:
    caps = caps_of(row, data.draw)
    greedy = choose(row, budget, run_cost=run_cost, max_runs=max_runs, caps=caps, method="greedy")
    exact = choose(row, budget, run_cost=run_cost, max_runs=max_runs, caps=caps)
    assert keeps(row, greedy.chosen, budget, max_runs, caps)
    assert exact.value >= greedy.value - 1e-7
    filled = fill(row, exact.chosen, budget, run_cost=run_cost, max_runs=max_runs, caps=caps)
    assert set(exact.chosen) <= set(filled)
    assert keeps(row, filled, budget, max_runs, caps)
    for i in set(range(len(row))) - set(filled):
        more = tuple(sorted({*filled, i}))
        assert row.gains[i] <= 0 or not keeps(row, more, budget, max_runs, caps), (i, filled)


@given(filed_rows(), st.integers(0, 45), run_costs, run_limits)
def test_loose_caps_change_nothing(row: Problem, budget: int, run_cost: float, max_runs: int | None) -> None:
    said: dict[str, Any] = {"run_cost": run_cost, "max_runs": max_runs}
    loose = choose(row, budget, **said, caps=[1000] * 4)
    assert loose.chosen == choose(row, budget, **said).chosen


def test_many_documents_under_a_cap() -> None:
    n = 600
    row = Problem([1 + i * 7 % 90 for i in range(n)], [3] * n, [(i * 37 % 101) / 100 for i in range(n)],
                     [i % 5 > 0 for i in range(n)], documents=[i // 15 for i in range(n)])  # fmt: skip
    caps = [120] * 40
    made = choose(row, 2000, run_cost=0.25, caps=caps)
    assert made.proven
    assert keeps(row, made.chosen, 2000, None, caps)
    assert made.value > choose(row, 2000, run_cost=0.25, caps=caps, method="greedy").value


def test_a_row_too_large_to_prove_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MAX_CELLS", 1)
    row = Problem([5, 5, 5], [1, 1, 1], [1.0, 0.4, 0.9], [False, True, False], documents=[0, 0, 1])
    made = choose(row, 20, keep=[1], caps=[6, 6])
    assert made.chosen == (1, 2)
    assert not made.proven
    assert made.bound >= made.value


def test_caps_need_to_know_the_documents() -> None:
    row = Problem([5], [1], [1.0], [False])
    with pytest.raises(RetrivexError, match="caps without documents"):
        choose(row, 20, caps=[6])
