"""Traps that others in this field have fallen into, one test each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.strategies import (
    bare,
    compose,
    count_words,
    hits_of,
    make_chunk,
    make_store,
    retrieve,
    sentences,
    shown_ids,
    tile,
)

from retrivex import SeedHit, SpanComposer
from retrivex.scoring.weighted import adjacency

TEN = bare("d", sentences("d", 10))


def test_the_heading_guard_fires_without_embeddings() -> None:
    store = make_store(
        *(
            make_chunk("d", i, text, heading_path=("A",) if i < 2 else ("B",))
            for i, text in enumerate(sentences("d", 4))
        )
    )
    made = compose(hits_of(store, {1: 1.0}), store, run_cost=0.0)
    assert shown_ids(made.spans) == [0, 1]
    assert [note.reason for note in made.trace.notes if note.chunk_id == 2] == ["heading"]


@pytest.mark.parametrize("why", ["heading", "missing", "page", "scope"])
def test_a_refused_neighbour_is_not_stepped_over(why: str) -> None:
    odd: dict[str, Any] = {
        "heading": {"heading_path": ("Other",)},
        "page": {"page": 9},
        "scope": {"scope": "zeta"},
    }.get(why, {})
    store = make_store(
        *(
            make_chunk("d", i, text, **{"page": 1, **(odd if i == 3 else {})})
            for i, text in enumerate(sentences("d", 8))
            if not (why == "missing" and i == 3)
        )
    )
    made = compose(hits_of(store, {2: 1.0}), store, window=4, run_cost=0.0, stop_on_change="page")
    assert shown_ids(made.spans) == [0, 1, 2]
    for span in made.spans:
        assert span.chunk_ids == list(range(span.chunk_ids[0], span.chunk_ids[-1] + 1))


@pytest.mark.parametrize("budget", range(12))
def test_a_small_budget_is_kept(budget: int) -> None:
    made = compose(hits_of(TEN, {5: 1.0}), TEN, token_budget=budget)
    assert made.tokens == count_words(made.text) <= budget
    spans = retrieve(hits_of(TEN, {5: 1.0}), TEN, token_budget=budget)
    assert count_words("\n\n".join(span.text for span in spans)) <= budget


def test_a_contained_chunk_is_not_glued_in() -> None:
    parts = [("The bird", 0), ("bird", 4), ("sings.", 9)]
    store = make_store(*(make_chunk("d", i, text, start) for i, (text, start) in enumerate(parts)))
    for scores in ({0: 0.9, 1: 0.8, 2: 0.7}, {0: 0.1, 1: 0.9, 2: 0.5}, {1: 1.0}):
        made = retrieve(hits_of(store, scores), store, run_cost=0.0)
        assert [span.text for span in made] == ["The bird sings."]
    nothing = retrieve(hits_of(store, {0: 0.9, 1: 0.8, 2: 0.7}), store, window=0, run_cost=0.0)
    assert [span.text for span in nothing] == ["The bird sings."]


def test_a_contained_hit_is_not_lost() -> None:
    store = make_store(
        make_chunk("d", 0, "The old bird sings in the tree today.", 0), make_chunk("d", 1, "bird sings", 8)
    )  # fmt: skip
    made = compose(hits_of(store, {1: 9.0, 0: 1.0}), store, window=0)
    assert "bird sings" in made.text
    assert made.dropped == ()


def test_a_gap_is_never_glued_without_a_mark() -> None:
    store = make_store(make_chunk("d", 0, "End of one.", 0), make_chunk("d", 1, "Far away.", 500))
    made = compose(hits_of(store, {0: 0.9, 1: 0.8}), store)
    assert len(made.spans) == 2
    assert "[... 489 characters omitted ...]" in compose(
        hits_of(store, {0: 0.9, 1: 0.8}), store, ordering_strategy="document"
    ).text  # fmt: skip
    small = make_store(make_chunk("d", 0, "End of one.", 0), make_chunk("d", 1, "Near by.", 13))
    (span,) = retrieve(hits_of(small, {0: 0.9, 1: 0.8}), small)
    assert span.text == "End of one.\n\nNear by."
    assert not span.exact


def test_hits_are_sorted_and_joined_into_runs() -> None:
    case = json.loads((Path(__file__).parents[1] / "golden" / "orders.json").read_text(encoding="utf-8"))[
        "pinecone_window"
    ]
    store = bare("d", sentences("d", 430))
    hits = [SeedHit(store["d", i], 0.9) for i in case["hits"]]
    spans = compose(hits, store, window=0, ordering_strategy="document").spans
    assert [list(span.span_range) for span in spans] == case["spans"]


def test_separators_count_in_the_budget() -> None:
    store = make_store(*(make_chunk("d", 3 * i, "word") for i in range(9)))
    hits = hits_of(store, {3 * i: 1.0 for i in range(9)})

    def count(text: str) -> int:
        return len(text.split()) + 3 * text.count("\n\n")

    for budget in range(20):
        spans = SpanComposer(tokenizer=count).retrieve(hits, store, token_budget=budget)
        assert count("\n\n".join(span.text for span in spans)) <= budget
        made = SpanComposer(tokenizer=count).compose(hits, store, token_budget=budget)
        assert count(made.text) <= budget


def test_the_best_hit_keeps_its_score_when_a_neighbour_is_added() -> None:
    hits = hits_of(TEN, {5: 0.9, 1: 0.3})
    alone = {s.chunk_ids[0]: s for s in compose(hits, TEN, window=0).spans}
    grown = next(s for s in compose(hits, TEN, window=1, run_cost=0.0).spans if 5 in s.chunk_ids)
    assert grown.chunk_ids != [5]
    assert grown.sim_score == alone[5].sim_score == 1.0
    values = {note.chunk_id: note.value for note in compose(hits, TEN, window=1).trace.notes}
    assert values[5] == 1.0


@pytest.mark.parametrize("n", range(2, 10))
def test_the_order_does_not_flip_with_the_number_of_spans(n: int) -> None:
    store = make_store(*(make_chunk("d", 2 * i, f"text {i}") for i in range(n)))
    spans = compose(hits_of(store, {2 * i: 1.0 - i / 20 for i in range(n)}), store, window=0).spans
    assert spans[0].chunk_ids == [0]
    assert spans[-1].chunk_ids == [2]


def test_a_negative_cosine_is_a_score() -> None:
    made = compose(hits_of(TEN, {2: -0.1, 7: -0.6}), TEN, window=0, score_scale="cosine")
    assert shown_ids(made.spans) == [2, 7]
    assert made.spans[0].chunk_ids == [2]


def test_the_longest_span_does_not_win_by_length() -> None:
    assert adjacency(range(10), [5], 0.7) < adjacency([5], [5], 0.7)
    store = {**tile("long", sentences("l", 9)), **tile("short", sentences("s", 1))}
    hits = [SeedHit(store["long", 4], 0.5), SeedHit(store["short", 0], 0.9)]
    spans = compose(hits, store, window=4, run_cost=0.0, ordering_strategy="score_desc").spans
    assert [span.doc_id for span in spans] == ["short", "long"]
    assert spans[0].adjacency_score == 1.0 > spans[1].adjacency_score


def test_overlapping_chunks_of_separate_windows_are_not_shown_twice() -> None:
    source = "".join(f"w{i:02d} " for i in range(60))
    store = make_store(*(make_chunk("d", i, source[i * 20 : i * 20 + 60], i * 20) for i in range(6)))
    spans = retrieve(hits_of(store, {0: 0.9, 2: 0.8}), store, window=0)
    words = " ".join(span.text for span in spans).split()
    assert len(words) == len(set(words))
    assert set(words) == set(source[:100].split())


def test_a_hit_in_the_longest_document_of_all_is_quick() -> None:
    last = 10**12
    store = make_store(make_chunk("d", last, "Far out."), make_chunk("d", last - 1, "Near by."))
    assert shown_ids(compose(hits_of(store, {last: 1.0}), store, run_cost=0.0).spans) == [last - 1, last]
