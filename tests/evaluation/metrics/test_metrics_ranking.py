from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import ndcg, recall_at_k

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


@pytest.mark.parametrize("bad", [[math.nan], [math.inf], [-1.0], [[1.0]]])
def test_a_gain_is_a_finite_number_and_not_negative(bad: Any) -> None:
    with pytest.raises(RetrivexError, match="gains are"):
        ndcg(bad)


def test_recall_counts_a_passage_once() -> None:
    assert recall_at_k(["a", "a", "b"], {"a", "b", "c"}) == pytest.approx(2 / 3)
    assert recall_at_k(["a", "a", "b"], {"a", "b"}, k=2) == 1.0
    assert recall_at_k([], {"a"}) == 0


@pytest.mark.parametrize("relevant", [[], set(), "a"])
def test_something_has_to_be_relevant(relevant: list[str]) -> None:
    with pytest.raises(RetrivexError, match=r"at least one|give a list"):
        recall_at_k(["a"], relevant)
