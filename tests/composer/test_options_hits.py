"""Options of the hits: their scores, several lists, copies, and passages that the caller names."""

from __future__ import annotations

from typing import Any

from support.option_builders import TEN, ids, made
from support.strategies import compose, hits_of, make_chunk, make_store, shown_ids

from retrivex import SeedHit


def test_k() -> None:
    assert ids({1: 0.9, 5: 0.8, 8: 0.7}, window=0) == [1, 5, 8]
    assert ids({1: 0.9, 5: 0.8, 8: 0.7}, window=0, k=2) == [1, 5]


def test_score_kind() -> None:
    assert made({1: 0.9, 5: 0.1}, window=0, score_kind="similarity").spans[0].chunk_ids == [1]
    for scale in ("unbounded", "cosine", "unit"):
        found = made({1: 0.9, 5: 0.1}, window=0, score_kind="distance", score_scale=scale)
        assert found.spans[0].chunk_ids == [5]


def test_score_scale() -> None:
    assert made({1: 0.9, 5: 3.0}, score_scale="unbounded").dropped == ()
    assert [hit.reason for hit in made({1: 0.9, 5: 3.0}, score_scale="cosine").dropped] == ["out_of_scale"]
    assert [hit.chunk_id for hit in made({1: 0.9, 5: -0.5}, score_scale="unit").dropped] == [5]
    relevance = {n.chunk_id: n.relevance for n in made({1: 0.8, 5: 0.4}, window=0, score_scale="cosine").trace.notes}
    assert relevance == {1: 1.0, 5: 0.5}  # of the best; by range it would be 0


def test_quotas() -> None:
    lists = [hits_of(TEN, {i: 0.9 - i / 10 for i in range(0, 8, 2)}), hits_of(TEN, {9: 0.1})]
    loose: dict[str, Any] = {"window": 0, "token_budget": 30, "run_cost": 0.0, "gap_markers": False}
    assert 9 in shown_ids(compose(lists, TEN, quotas="equal", **loose).spans)
    equal = [hits_of(TEN, {0: 0.9, 2: 0.8, 4: 0.7}), hits_of(TEN, {0: 0.9, 2: 0.8, 9: 0.1})]
    assert shown_ids(compose(equal, TEN, **{**loose, "token_budget": 18}).spans) == [0, 2]
    lists = [hits_of(TEN, {0: 0.9}), hits_of(TEN, {5: 0.9})]
    said: dict[str, Any] = {"window": 0, "token_budget": 16}
    assert shown_ids(compose(lists, TEN, quotas=(1.0, 0.0), **said).spans) == [0]
    assert shown_ids(compose(lists, TEN, quotas=(0.0, 1.0), **said).spans) == [5]


def test_dedupe_overlaps() -> None:
    text = "The very same long sentence was indexed under two names."
    store = make_store(make_chunk("d", 0, text), make_chunk("copy", 0, text))
    hits = [SeedHit(chunk, 1.0) for chunk in store.values()]
    assert len(compose(hits, store).spans) == 1
    assert len(compose(hits, store, dedupe_overlaps=False).spans) == 2


def test_near_duplicate_threshold() -> None:
    text = "A long sentence stands on a page, and on a mirror of that page with {} footer below it."
    store = make_store(make_chunk("d", 0, text.format("one")), make_chunk("mirror", 0, text.format("its own")))
    hits = [SeedHit(store["d", 0], 1.0), SeedHit(store["mirror", 0], 0.9)]
    assert len(compose(hits, store).spans) == len(compose(hits, store, near_duplicate_threshold=0.99).spans) == 2
    made = compose(hits, store, near_duplicate_threshold=0.8)
    assert [span.doc_id for span in made.spans] == ["d"]
    assert [(hit.doc_id, hit.reason) for hit in made.dropped] == [("mirror", "near_duplicate")]
    assert "('d', 0): similarity 0.8" in made.dropped[0].detail


def test_pinned() -> None:
    assert made({5: 1.0}, window=0, pinned=[TEN["d", 1]]).spans[0].chunk_ids == [1]


def test_exclude() -> None:
    assert ids({1: 0.9, 5: 0.5}, window=0, exclude=[TEN["d", 1]]) == [5]
