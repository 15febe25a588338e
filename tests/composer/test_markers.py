"""Gap markers are paid where they are written, and limits hold for the text as it is counted."""

from __future__ import annotations

from typing import Any

from support.strategies import count_words, make_chunk, make_store

from retrivex import Composition, SeedHit, SpanComposer


def spread(scores: dict[tuple[str, int], float], length: int = 4, **said: Any) -> Composition:
    """Compose hits of `length` words each, far from one another in their documents."""
    chunks = [
        make_chunk(doc_id, at, " ".join(f"{doc_id}{at}{i}" for i in range(length)), at * 1000) for doc_id, at in scores
    ]
    hits = [SeedHit(chunk, scores[chunk.key]) for chunk in chunks]
    options = {"window": 0, "scoring": "weighted", "run_cost": 0.0, "numbered": False, **said}
    return SpanComposer(tokenizer=count_words).compose(hits, make_store(*chunks), **options)


def test_no_marker_is_paid_where_none_can_stand() -> None:
    made = spread({(doc_id, 1): 0.9 for doc_id in "abcdefgh"}, token_budget=32)
    assert (len(made.spans), made.tokens) == (8, 32)


def test_no_marker_is_paid_before_the_order_is_known() -> None:
    # each of 60 documents has two hits, more candidates than are counted one by one; by score no two follow each other
    scores = {(f"d{name:02}", at): 1.0 - at / 10 - name / 1000 for name in range(60) for at in (0, 2)}
    made = spread(scores, token_budget=240, ordering_strategy="score_desc")
    assert (len(made.spans), made.tokens) == (60, 240)
    both = spread(scores, token_budget=480, ordering_strategy="score_desc")
    assert (len(both.spans), both.tokens) == (120, 480)


def test_markers_are_paid_where_the_order_writes_them() -> None:
    scores = {("a", 0): 0.9, ("a", 2): 0.8, ("b", 0): 0.7, ("c", 0): 0.6}
    together = spread(scores, token_budget=12, ordering_strategy="document")
    assert {span.doc_id for span in together.spans} == {"a", "b", "c"}  # the marker takes more than a chunk
    apart = spread(scores, token_budget=12, ordering_strategy="edge_balanced")
    assert [(span.doc_id, span.chunk_ids) for span in apart.spans] == [("a", [0]), ("b", [0]), ("a", [2])]


def test_a_text_full_of_markers_keeps_the_budget_and_shows_several_spans() -> None:
    scores = {("a", at): 0.9 - at / 1000 for at in range(120)}
    made = spread(scores, length=2, token_budget=90, ordering_strategy="document", max_gap_chars=0)
    assert 90 - 2 - 5 < made.tokens <= 90
    assert made.text.count("omitted") == len(made.spans) - 1 > 8


def test_caps_and_limits_hold_for_what_is_found_by_count() -> None:
    scores = {(doc_id, at): 0.9 - at / 10 for doc_id in "ab" for at in range(4)}
    capped = spread(scores, token_budget=100, max_tokens_per_document=8)
    assert {doc_id: sum(s.token_count for s in capped.spans if s.doc_id == doc_id) for doc_id in "ab"} == {
        "a": 8,
        "b": 8,
    }
    assert len(spread(scores, token_budget=100, max_spans=3).spans) == 3


def test_kept_hits_stay_where_others_are_worth_more() -> None:
    scores = {("a", 0): 1.0, **{(doc_id, 1): 0.9 for doc_id in "bcde"}}
    made = spread(scores, token_budget=8, keep_top=1)
    assert ("a", [0]) in [(span.doc_id, span.chunk_ids) for span in made.spans]
    assert made.tokens == 8
