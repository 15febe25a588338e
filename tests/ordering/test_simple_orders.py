"""Orders by score alone, and those of the caller's own."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import OrderingError
from retrivex.ordering import (
    alternating,
    back_first,
    best_last,
    chronological,
    custom,
    document,
    document_edges,
    edge_balanced,
    front_first,
    group_by,
    place_weights,
    position_weighted,
    profile,
    relevance_groups,
    score_desc,
    shuffle,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "orders.json").read_text(encoding="utf-8"))

scored = st.lists(st.integers(0, 5), max_size=12).map(
    lambda scores: [SimpleNamespace(score=score, place=place) for place, score in enumerate(scores)]
)


@pytest.mark.parametrize("case", GOLDEN["lost_in_the_middle"]["cases"], ids=lambda case: str(len(case["ranked"])))
def test_edge_balanced_as_published(case: dict[str, list[int]]) -> None:
    assert edge_balanced(case["ranked"], ranked=True) == case["ordered"]


@pytest.mark.parametrize("case", GOLDEN["start_and_end_counts"]["cases"], ids=lambda case: f"{case['count']} items")
def test_counts_at_the_edges_as_published(case: dict[str, Any]) -> None:
    items = range(1, case["count"] + 1)
    assert edge_balanced(items, ranked=True, start_count=case["start"], end_count=case["end"]) == case["ordered"]


def test_alternating_as_published() -> None:
    scores = GOLDEN["alternating"]["scores"]
    assert alternating(list(scores), score=scores.__getitem__) == GOLDEN["alternating"]["ordered"]


@given(st.integers(2, 40))
def test_rank_1_is_first_and_rank_2_last_whatever_the_number(n: int) -> None:
    ordered = edge_balanced(range(n), ranked=True)
    assert (ordered[0], ordered[-1]) == (0, 1)
    worst = ordered.index(n - 1)
    assert ordered[: worst + 1] == sorted(ordered[: worst + 1])
    assert ordered[worst:] == sorted(ordered[worst:], reverse=True)


@given(st.integers(0, 30), st.integers(0, 12), st.integers(0, 12))
def test_counts_put_so_many_of_the_best_at_the_edges(n: int, start: int, end: int) -> None:
    ordered = edge_balanced(range(n), ranked=True, start_count=start, end_count=end)
    if start + end >= n:
        assert ordered == edge_balanced(range(n), ranked=True)
    else:
        assert ordered[:start] == list(range(start))
        assert ordered[n - end :] == list(range(start, start + end))
        assert ordered[start : n - end] == list(range(start + end, n))


@pytest.mark.parametrize(("start", "end"), [(1, None), (None, 1), (-1, 1), (1.0, 1), (True, 1)])
def test_counts_are_two_whole_numbers(start: Any, end: Any) -> None:
    with pytest.raises(OrderingError, match="give both as whole numbers"):
        edge_balanced([1, 2], ranked=True, start_count=start, end_count=end)


ORDERS: dict[str, Callable[..., list[Any]]] = {
    "score_desc": score_desc,
    "best_last": best_last,
    "edge_balanced": edge_balanced,
    "alternating": alternating,
    "position_weighted": position_weighted,
    "profile": profile,
    "relevance_groups": lambda items, **said: relevance_groups(items, high=3, medium=1, **said),
    "document": lambda items, **said: document(items, source="score", position="place", **said),
    "document_edges": lambda items, **said: document_edges(items, source="score", position="place", **said),
    "chronological": lambda items, **said: chronological(items, timestamp="place", **said),
    "group_by": lambda items, **said: group_by(items, "score", **said),
}


@pytest.mark.parametrize("name", ORDERS)
@given(items=scored)
def test_an_order_is_a_permutation_and_leaves_its_input(name: str, items: list[Any]) -> None:
    before = list(items)
    assert sorted(item.place for item in ORDERS[name](items)) == list(range(len(items)))
    assert items == before


def by_place(items: list[Any]) -> list[Any]:
    return custom(items, key=lambda item: -item.place)


@pytest.mark.parametrize("order", [front_first, back_first, shuffle, by_place])
@given(items=scored)
def test_so_is_one_that_reads_no_score(order: Callable[[Any], list[Any]], items: list[Any]) -> None:
    before = list(items)
    assert sorted(item.place for item in order(items)) == list(range(len(items)))
    assert items == before


@pytest.mark.parametrize("name", ORDERS)
@given(items=scored)
def test_ranked_is_what_sorting_makes(name: str, items: list[Any]) -> None:
    ranked = sorted(items, key=lambda item: -item.score)
    if name in ("document", "document_edges", "chronological"):
        ranked = [SimpleNamespace(score=item.score, place=place) for place, item in enumerate(ranked)]
    assert ORDERS[name](ranked, ranked=True) == ORDERS[name](ranked)


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "0.5"], ids=repr)
@pytest.mark.parametrize("others", [[], [0.5, 0.7], [math.inf]], ids=len)
def test_a_score_that_is_no_finite_number_is_refused(name: str, bad: Any, others: list[float]) -> None:
    items = [SimpleNamespace(score=score, place=place) for place, score in enumerate([*others, bad])]
    with pytest.raises(OrderingError, match="it must be a finite number; leave such items out"):
        ORDERS[name](items)


@pytest.mark.parametrize("name", ORDERS)
def test_a_missing_score_says_how_to_name_it(name: str) -> None:
    with pytest.raises(OrderingError, match="score='similarity', or pass score=callable"):
        ORDERS[name]([{"similarity": 0.5, "place": 1}])


def test_finite_scores_whose_sum_is_not_are_fine() -> None:
    assert score_desc([1e308, 1.5e308, -1e308], score=float) == [1.5e308, 1e308, -1e308]
    assert score_desc([10**400, 1], score=lambda n: 1.0 if n > 1 else 0) == [10**400, 1]


def test_a_score_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(OrderingError, match="finite number"):
        score_desc([10**400, 1], score=lambda n: n)


@given(scored)
def test_score_desc_is_stable(items: list[Any]) -> None:
    made = score_desc(items)
    assert [(-item.score, item.place) for item in made] == sorted((-item.score, item.place) for item in items)


def test_fields_are_named_or_read() -> None:
    dicts = [{"id": "a", "metadata": {"rating": 1}}, {"id": "b", "metadata": {"rating": 2}}]
    assert [item["id"] for item in score_desc(dicts, score="rating")] == ["b", "a"]
    assert edge_balanced(["bb", "a", "ccc"], score=len) == ["ccc", "a", "bb"]


@given(scored)
def test_best_last_is_best_first_turned_round(items: list[Any]) -> None:
    assert best_last(items) == score_desc(items)[::-1]


@given(st.integers(1, 200))
def test_place_weights_of_the_first_and_the_last_tenth(n: int) -> None:
    weights = place_weights(n)
    edge = max(1, n // 10)
    assert weights[:edge] == [1.0] * min(edge, n)
    assert weights[max(edge, n - edge) :] == [0.9] * (n - max(edge, n - edge))
    assert set(weights[edge : n - edge]) <= {0.5}


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=7), st.data())
def test_position_weighted_is_the_best_assignment(scores: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.floats(-5, 5), min_size=len(scores), max_size=len(scores)))
    made = position_weighted(scores, score=float, weights=weights)
    worth = sum(score * weight for score, weight in zip(made, weights, strict=True))
    best = max(sum(s * w for s, w in zip(p, weights, strict=True)) for p in permutations(scores))
    assert worth == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("weights", [[1.0], [1.0, math.nan], []])
def test_weights_are_one_for_each_place(weights: list[float]) -> None:
    with pytest.raises(OrderingError, match="give one finite number for each"):
        position_weighted([1, 2], ranked=True, weights=weights)


def test_shuffle_is_seeded() -> None:
    assert shuffle(range(20), seed=1) == shuffle(range(20), seed=1)
    assert shuffle(range(20), seed=1) != shuffle(range(20), seed=2)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers()), max_size=10))
def test_custom_by_key_and_by_comparison_are_the_same(items: list[tuple[int, int]]) -> None:
    by_key = custom(items, key=lambda item: item[0])
    assert by_key == sorted(items, key=lambda item: item[0])
    assert custom(items, compare=lambda a, b: (a[0] - b[0]) / 7) == by_key
    assert custom(items, key=lambda item: item[0], reverse=True) == sorted(items, key=lambda i: i[0], reverse=True)


@pytest.mark.parametrize("said", [{}, {"key": len, "compare": lambda a, b: 0}])
def test_custom_needs_one_of_the_two(said: dict[str, Any]) -> None:
    with pytest.raises(OrderingError, match="give one of the two"):
        custom(["a"], **said)
