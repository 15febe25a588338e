"""Near-identical chunks of different documents, in the composer."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from similarity.test_near_duplicates import similarity
from support.strategies import cases, compose, make_chunk, make_store, sentences, tile

from retrivex import Composition, RetrivexError, SeedHit, SpanComposer

BODY = "The hive has one queen, and she lays all the eggs of the colony, some thousand on a summer day."
COPY = BODY + " Share this."
OTHER = "Wasps build their nests of paper, which they make of old wood that they chew for a long time."


def mirrored(*texts: str, **options: Any) -> Composition:
    """Compose one chunk a document, the first with the best score."""
    store = make_store(*(make_chunk(f"d{at}", 0, text) for at, text in enumerate(texts)))
    hits = [SeedHit(chunk, 1.0 - at / 10) for at, chunk in enumerate(store.values())]
    return compose(hits, store, window=0, run_cost=0.0, **{"near_duplicate_threshold": 0.8, **options})


def shown(made: Composition) -> list[str]:
    return sorted(span.doc_id for span in made.spans)


def test_a_mirror_is_dropped_and_names_what_it_repeats() -> None:
    made = mirrored(BODY, COPY, OTHER)
    assert shown(made) == ["d0", "d2"]
    dropped = made.dropped[0]
    assert (dropped.doc_id, dropped.reason) == ("d1", "near_duplicate")
    assert dropped.detail == f"almost the same text stands in ('d0', 0): similarity {similarity(BODY, COPY):.2f}"


def test_it_is_off_by_default() -> None:
    assert shown(mirrored(BODY, COPY, near_duplicate_threshold=None)) == ["d0", "d1"]


def test_the_better_of_two_is_shown() -> None:
    assert shown(mirrored(COPY, BODY)) == ["d0"]


def test_with_the_question_too() -> None:
    made = mirrored(BODY, COPY, OTHER, query="Who lays the eggs of the colony?", effort="full")
    assert shown(made) == ["d0", "d2"]
    assert [hit.reason for hit in made.dropped] == ["near_duplicate"]


def test_a_copy_of_a_mirror_goes_with_it() -> None:
    made = mirrored(BODY, COPY, COPY)
    assert shown(made) == ["d0"]
    assert [(hit.doc_id, hit.reason) for hit in made.dropped] == [("d1", "near_duplicate"), ("d2", "near_duplicate")]


def test_without_dedupe_overlaps_equal_texts_are_near_duplicates_as_well() -> None:
    made = mirrored(BODY, BODY, dedupe_overlaps=False)
    assert shown(made) == ["d0"]
    assert [hit.reason for hit in made.dropped] == ["near_duplicate"]


def test_chunks_of_one_document_may_be_alike() -> None:
    store = tile("d", [BODY, *sentences("x", 3), COPY])
    hits = [SeedHit(store["d", 0], 1.0), SeedHit(store["d", 4], 0.9)]
    made = compose(hits, store, window=0, run_cost=0.0, near_duplicate_threshold=0.8)
    assert [span.chunk_ids for span in made.spans] == [[0], [4]]


def test_short_chunks_recur_by_chance() -> None:
    assert shown(mirrored("See the appendix.", "See the appendix!")) == ["d0", "d1"]


def test_a_mirror_counts_where_the_better_copy_does_not_fit() -> None:
    # the better one is too long for the budget beside a passage that is worth more for its tokens
    store = make_store(
        make_chunk("best", 0, "Short and best."),
        make_chunk("long", 0, " ".join(f"word{at}" for at in range(40))),
        make_chunk("part", 0, " ".join(f"word{at}" for at in range(30))),
    )
    hits = [SeedHit(store["best", 0], 1.0), SeedHit(store["long", 0], 0.9), SeedHit(store["part", 0], 0.8)]
    said: dict[str, Any] = {"window": 0, "run_cost": 0.0, "token_budget": 38, "numbered": False}
    made = compose(hits, store, near_duplicate_threshold=0.6, **said)
    assert shown(made) == ["best", "part"]
    assert [hit.reason for hit in made.dropped] == ["budget"]


def test_the_order_of_hits_makes_no_difference() -> None:
    store = make_store(*(make_chunk(doc_id, 0, text) for doc_id, text in (("a", BODY), ("b", COPY), ("c", OTHER))))
    hits = [SeedHit(chunk, 0.5) for chunk in store.values()]
    made = {
        compose(list(order), store, window=0, near_duplicate_threshold=0.8, diversity=0.5).text
        for order in permutations(hits)
    }
    assert len(made) == 1


@given(cases(), st.sampled_from([0.3, 0.85]), st.sampled_from([0.0, 0.5, 1.0]))
def test_every_hit_is_shown_or_dropped_and_the_budget_holds(case: Any, threshold: float, diversity: float) -> None:
    options = {**case.options, "near_duplicate_threshold": threshold, "diversity": diversity}
    try:
        made = SpanComposer(tokenizer=lambda text: len(text.split())).compose(
            case.hits, case.store, case.parent_store, query=case.query, query_embedding=case.query_embedding,
            scope=case.scope, **options,
        )  # fmt: skip
    except RetrivexError:
        return
    assert made.tokens <= made.token_budget
    hits = (
        case.hits if not case.hits or isinstance(case.hits[0], SeedHit) else [hit for row in case.hits for hit in row]
    )
    among = {(span.doc_id, chunk_id) for span in made.spans for chunk_id in span.chunk_ids}
    among |= {(hit.doc_id, hit.chunk_id) for hit in made.dropped}
    # the text of a hit that lies within another chunk may be shown by that one
    assert all(hit.key in among or hit.chunk.text in made.text for hit in hits)
    for hit in made.dropped:
        if hit.reason == "near_duplicate":
            assert "similarity" in hit.detail


EMBEDDED = [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0]]


def test_diversity_compares_embeddings_where_all_candidates_have_them() -> None:
    store = make_store(
        *(make_chunk(f"d{at}", 0, text, embedding=EMBEDDED[at]) for at, text in enumerate((BODY, OTHER, COPY)))
    )
    hits = [SeedHit(chunk, 1.0 - at / 10) for at, chunk in enumerate(store.values())]
    said: dict[str, Any] = {"window": 0, "max_spans": 2, "score_scale": "unit"}
    # by their words d0 and d2 are alike, by their embeddings d0 and d1
    assert shown(compose(hits, store, diversity=0.9, **said)) == ["d0", "d2"]
    bare = make_store(*(make_chunk(f"d{at}", 0, text) for at, text in enumerate((BODY, OTHER, COPY))))
    unembedded = [SeedHit(bare[hit.key], hit.similarity_score) for hit in hits]
    assert shown(compose(unembedded, bare, diversity=0.9, **said)) == ["d0", "d1"]


def test_diversity_says_where_embeddings_cannot_be_compared() -> None:
    store = make_store(make_chunk("a", 0, BODY, embedding=[1.0, 0.0]), make_chunk("b", 0, OTHER))
    made = compose([SeedHit(chunk, 1.0) for chunk in store.values()], store, diversity=0.5)
    assert "not all candidates have embeddings of one size: diversity compared their texts" in made.warnings


@pytest.mark.parametrize("options", [{"near_duplicate_threshold": 0}, {"diversity": 1.5}])
def test_settings_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        mirrored(BODY, **options)
