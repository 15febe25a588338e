"""The best set by an exact count, against brute force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import candidate_rows

from retrivex.selection import counted
from retrivex.selection.counted import find_better
from retrivex.selection.problem import Limits, Problem, count_spans, measure


@try_examples(500)
@given(
    candidate_rows(max_size=8),
    st.integers(0, 40),
    st.sampled_from([0.0, 0.4]),
    st.sampled_from([None, 1, 2]),
    st.data(),
)
def test_what_is_found_is_worth_what_brute_force_finds(
    row: Problem, budget: int, run_cost: float, max_spans: int | None, data: st.DataObject
) -> None:
    row = replace(row, run_cost=run_cost)
    saved = data.draw(st.integers(0, 2))
    keep = data.draw(st.sets(st.integers(0, len(row) - 1), max_size=1)) if len(row) else set()
    changes = data.draw(st.lists(st.integers(-saved, 3), min_size=len(row), max_size=len(row)))

    def count(chosen: Sequence[int]) -> int:
        tokens = measure(row, chosen)[1]
        return max(tokens + sum(changes[i] for i in chosen), tokens - saved * len(chosen), 0)

    every = [c for size in range(len(row) + 1) for c in combinations(range(len(row)), size) if keep <= set(c)]
    spans = len(row) if max_spans is None else max_spans
    fitting = [measure(row, c)[0] for c in every if count(c) <= budget and count_spans(row, c) <= spans]
    best = max(fitting, default=0.0)
    known = data.draw(st.sampled_from([0.0, max(0.0, best - 0.1), best, best + 0.1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "MAX_COUNTS", len(every) + 1)  # the right answer, not when to give up
        found = find_better(row, Limits(budget, max_spans, keep=keep), known, count, saved)
    if best <= known + 1e-9 or not len(row):
        assert found is None
        return
    assert found is not None
    assert keep <= set(found)
    assert count(found) <= budget
    assert count_spans(row, found) <= spans
    assert measure(row, found)[0] == pytest.approx(best, abs=1e-7)


def test_caps_are_kept_by_price() -> None:
    row = Problem([5, 5, 5], [1, 1, 1], [1.0, 0.9, 0.4], [False, False, False], documents=[0, 0, 1])
    assert find_better(row, Limits(15, caps=[11, 11]), 0.0, lambda chosen: 5 * len(chosen), 1) == (0, 2)


def test_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Problem([5] * 20, [1] * 20, [1.0] * 20, [False] * 20)
    counts: list[tuple[int, ...]] = []

    def never(chosen: tuple[int, ...]) -> int:
        counts.append(chosen)
        return 1000

    assert find_better(row, Limits(60), 0.0, never) is None
    assert 0 < len(counts) <= counted.MAX_COUNTS
    monkeypatch.setattr(counted, "MAX_CANDIDATES", 19)
    assert find_better(row, Limits(60), 0.0, len) is None
    assert find_better(Problem([], [], [], []), Limits(60), 0.0, len) is None
