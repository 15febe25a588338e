"""Where the best spans stand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import compose, hits_of, make_chunk, make_store

from retrivex import RetrievalConfig
from retrivex.ordering import back_first, edge_balanced, front_first, score_desc
from retrivex.span_order import order_spans

GOLDEN = json.loads((Path(__file__).parent / "golden" / "orders.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN["lost_in_the_middle"]["cases"], ids=lambda case: str(len(case["ranked"])))
def test_edge_balanced_as_published(case: dict[str, list[int]]) -> None:
    assert edge_balanced(case["ranked"], ranked=True) == case["ordered"]


@given(st.integers(2, 40))
def test_rank_1_is_first_and_rank_2_last_whatever_the_number(n: int) -> None:
    ordered = edge_balanced(range(n), ranked=True)
    assert (ordered[0], ordered[-1]) == (0, 1)
    assert sorted(ordered) == list(range(n))
    worst = ordered.index(n - 1)
    assert ordered[: worst + 1] == sorted(ordered[: worst + 1])
    assert ordered[worst:] == sorted(ordered[worst:], reverse=True)


scored = st.lists(st.integers(0, 5), max_size=12).map(
    lambda scores: [SimpleNamespace(score=score, place=place) for place, score in enumerate(scores)]
)


@given(scored)
def test_score_desc_is_stable(items: list[Any]) -> None:
    made = score_desc(items)
    assert [(-item.score, item.place) for item in made] == sorted((-item.score, item.place) for item in items)


@given(scored)
def test_every_order_is_a_permutation_and_leaves_its_input(items: list[Any]) -> None:
    before = list(items)
    for order in (score_desc, edge_balanced, front_first, back_first):
        assert sorted(item.place for item in order(items)) == sorted(item.place for item in items)
    assert items == before


def test_edge_balanced_sorts_by_a_score_of_the_callers() -> None:
    assert edge_balanced(["bb", "a", "ccc"], score=len) == ["ccc", "a", "bb"]


SCORES = {0: 0.2, 2: 0.9, 4: 0.5, 6: 0.7}


def ordered(strategy: str) -> list[int]:
    store = make_store(*(make_chunk("d", i, f"text {i}", 100 * i) for i in range(7)))
    made = compose(hits_of(store, SCORES), store, window=0, ordering_strategy=strategy)
    return [span.chunk_ids[0] for span in made.spans]


@pytest.mark.parametrize(
    ("strategy", "chunks"),
    [
        ("score_desc", [2, 6, 4, 0]),
        ("front_first", [2, 6, 4, 0]),
        ("back_first", [0, 4, 6, 2]),
        ("edge_balanced", [2, 4, 0, 6]),
        ("document", [0, 2, 4, 6]),
    ],
)
def test_strategies_in_a_context(strategy: str, chunks: list[int]) -> None:
    assert ordered(strategy) == chunks


def test_document_order_begins_with_the_document_of_the_best_span() -> None:
    chunks = [make_chunk(doc_id, i, f"{doc_id}{i}", 100 * i) for doc_id in "ab" for i in (0, 5)]
    store = make_store(*chunks)
    hits = [*hits_of(store, {0: 0.5, 5: 0.1}, "a"), *hits_of(store, {0: 0.2, 5: 0.9}, "b")]
    made = compose(hits, store, window=0, ordering_strategy="document")
    assert [(span.doc_id, span.chunk_ids[0]) for span in made.spans] == [("b", 0), ("b", 5), ("a", 0), ("a", 5)]


def test_an_order_is_given_by_name_or_by_enum() -> None:
    assert order_spans([], RetrievalConfig(ordering_strategy="document")) == ([], {"strategy": "document"})
    with pytest.raises(ValueError, match="ordering_strategy"):
        compose([], {}, ordering_strategy="sideways")
