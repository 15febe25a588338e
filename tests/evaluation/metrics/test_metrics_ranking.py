from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import mean_reciprocal_rank, ndcg, recall_at_k, reciprocal_rank

gains = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), max_size=8)


def test_the_example_of_jarvelin_and_kekalainen() -> None:
    # "Cumulated gain-based evaluation of IR techniques", 2002: G' = <3, 2, 3, 0, 0, 1, 2, 2, 3, 0>; with discounts of
    # log2(rank + 1), as trec_eval has them
    shown = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    dcg = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(shown, 1))
    best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(sorted(shown, reverse=True), 1))
    assert ndcg(shown) == pytest.approx(dcg / best)


def test_ndcg_by_hand() -> None:
    # (1 + 2 / 2) / (2 + 1 / log2(3)) = 2 / 2.6309
    assert ndcg([1, 0, 2]) == pytest.approx(0.7602, abs=5e-5)
    assert ndcg([1, 0, 2], k=2) == pytest.approx(1 / 2.6309, abs=5e-5)
    assert ndcg([0, 1], ideal=[1, 1, 0]) == pytest.approx(0.6309 / 1.6309, abs=5e-5)


def test_large_and_small_gains() -> None:
    assert ndcg([1e308] * 5) == ndcg([5e-324]) == 1
    assert ndcg([5e307, 0, 1e308]) == pytest.approx(ndcg([0.5, 0, 1]))


def test_ndcg_of_nothing_relevant_is_0() -> None:
    assert ndcg([0, 0, 0]) == ndcg([]) == 0


@given(gains, st.one_of(st.none(), st.integers(1, 9)))
def test_the_best_order_has_1_and_no_other_more(shown: list[float], k: int | None) -> None:
    assert ndcg(sorted(shown, reverse=True), k) == pytest.approx(1.0 if any(shown) else 0.0)
    assert 0 <= ndcg(shown, k) <= 1 + 1e-12


@pytest.mark.parametrize(("shown", "ideal"), [([1, 1, 1], [1]), ([2], [1, 1, 1]), ([0, 1], []), ([1, 1], [1, 0])])
@pytest.mark.parametrize("k", [None, 1])
def test_an_ideal_is_not_worse_than_the_ranking(shown: list[float], ideal: list[float], k: int | None) -> None:
    with pytest.raises(RetrivexError, match="worse than the ranking"):
        ndcg(shown, k, ideal=ideal)


@given(gains, gains, st.one_of(st.none(), st.integers(1, 9)))
def test_no_ranking_of_what_there_is_is_over_1(shown: list[float], others: list[float], k: int | None) -> None:
    assert 0 <= ndcg([*shown, 0, 0], k, ideal=[*others, *shown]) <= 1 + 1e-12


@pytest.mark.parametrize("bad", [[-1.0], [math.nan], [math.inf], [[1.0]], ["a"], ["1"], [None], "a", None])
def test_a_gain_is_a_finite_number_and_not_negative(bad: list[float]) -> None:
    with pytest.raises(RetrivexError, match="none below 0"):
        ndcg(bad)


def test_recall_counts_a_passage_once() -> None:
    assert recall_at_k(["a", "a", "b"], {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert recall_at_k(["a", "a", "b"], {"a", "b"}, k=2) == 1.0
    assert recall_at_k([], {"a"}) == 0


def test_reciprocal_rank() -> None:
    assert reciprocal_rank(["x", "y", "a"], {"a"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "y", "a"], {"a"}, k=2) == 0
    assert mean_reciprocal_rank([["a"], ["x", "a"], ["x"]], [{"a"}, {"a"}, {"a"}]) == pytest.approx(0.5)


@pytest.mark.parametrize("relevant", [[], set(), "a"])
def test_something_has_to_be_relevant(relevant: list[str]) -> None:
    with pytest.raises(RetrivexError, match="at least one"):
        recall_at_k(["a"], relevant)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_is_a_whole_number(k: int) -> None:
    with pytest.raises(RetrivexError, match="k is"):
        recall_at_k(["a"], ["a"], k)
    with pytest.raises(RetrivexError, match="k is"):
        ndcg([1.0], k)


@pytest.mark.parametrize("bad", ["abc", None, 3, [["a"]]])
def test_a_ranking_is_a_list_of_names(bad: Any) -> None:
    for measure in (recall_at_k, reciprocal_rank):
        with pytest.raises(RetrivexError, match=r"retrieved.* is .*: give a"):
            measure(bad, {"a"})
    with pytest.raises(RetrivexError, match=r"give a list|give a text"):
        mean_reciprocal_rank([bad], [{"a"}])
    with pytest.raises(RetrivexError, match=r"relevant.* is .*: give"):
        recall_at_k(["a"], bad)
    with pytest.raises(RetrivexError, match=r"give a list|2 sets|give a text"):
        mean_reciprocal_rank("ab", ["a", "b"])


def test_every_question_has_a_ranking() -> None:
    with pytest.raises(RetrivexError, match="1 rankings and 0 sets"):
        mean_reciprocal_rank([["a"]], [])
