"""The composer as a whole: the published program, overrides, batches, several lists, one request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
)

from retrivex import Chunk, ChunkMetadata, ComposeRequest, RetrievalConfig, RetrivexError, SeedHit, SpanComposer, Window
from retrivex.stores.memory import InMemoryChunkStore

TEN = bare("d", sentences("d", 10))


def test_the_published_program_runs_as_it_is() -> None:
    chunk_store = {("doc", i): Chunk(f"Sentence {i} of it. ", ChunkMetadata("doc", i)) for i in range(8)}
    seed_hits = [SeedHit(chunk_store["doc", 3], 0.9), SeedHit(chunk_store["doc", 6], 0.7)]
    config = RetrievalConfig(window=2, k=6, token_budget=2000, ordering_strategy="edge_balanced", tokenizer="estimate")
    composer = SpanComposer(config)
    for question in ("Which sentence?", None):
        spans = composer.retrieve(seed_hits=seed_hits, chunk_store=chunk_store, query=question)
        context = "\n\n".join(span.text for span in spans)
        assert "Sentence 3 of it." in context
        assert "Sentence 6 of it." in context
    assert composer.retrieve(seed_hits, chunk_store, None)


class CountingStore:
    """Remembers what it was asked."""

    def __init__(self, chunks: dict[tuple[str, int], Chunk], batch_limit: int | None = None) -> None:
        self.chunks = chunks
        self.batch_limit = batch_limit
        self.asked: list[list[Window]] = []

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> Iterable[Chunk]:
        self.asked.append(list(windows))
        for window in windows:
            for chunk_id in range(window.start, window.end):
                if (window.doc_id, chunk_id) in self.chunks:
                    yield self.chunks[window.doc_id, chunk_id]


def test_one_request_whatever_the_number_of_seeds() -> None:
    store = CountingStore(TEN)
    made = compose(hits_of(TEN, {1: 0.9, 2: 0.8, 8: 0.7}), store)
    assert store.asked == [[Window("d", 0, 5), Window("d", 6, 11)]]
    assert made.trace.requests == 1


def unplaced(text: str, score: float = 0.5, reason: str = "nobody numbered them") -> SeedHit:
    return SeedHit(make_chunk(f"made up for {text}", 0, text), score, reason)


def test_hits_without_a_place_stay_as_they_are_without_a_request() -> None:
    store = CountingStore(TEN)
    made = compose([unplaced("Owls hunt."), unplaced("Bees sleep.", 0.4)], store)
    assert sorted(span.text for span in made.spans) == ["Bees sleep.", "Owls hunt."]
    assert (store.asked, made.trace.requests) == ([], 0)
    assert made.warnings == ("2 of 2 hits stay as they are: nobody numbered them",)
    with pytest.raises(RetrivexError, match=r"^1 of 1 hits stay as they are: nobody numbered them$"):
        compose([unplaced("Owls hunt.")], store, strict=True)


def test_only_hits_with_a_place_are_asked_for_and_grow() -> None:
    store = CountingStore(TEN)
    hits = [*hits_of(TEN, {1: 0.9}), unplaced("Owls hunt."), unplaced("Elks roam.", 0.4, "no document")]
    made = compose(hits, store)
    assert store.asked == [[Window("d", 0, 4)]]
    assert made.warnings == (
        "1 of 3 hits stay as they are: nobody numbered them",
        "1 of 3 hits stay as they are: no document",
    )
    assert {"Owls hunt.", "Elks roam."} < {span.text for span in made.spans}
    assert {len(span.chunk_ids) for span in made.spans if span.doc_id == "d"} != {1}


def test_fused_hits_without_a_place_have_none_either() -> None:
    store = CountingStore(TEN)
    made = compose([[unplaced("Owls hunt.")], [unplaced("Owls hunt."), unplaced("Elks roam.")]], store)
    assert store.asked == []
    assert made.warnings == ("2 of 2 hits stay as they are: nobody numbered them",)


@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_the_number_of_a_hit_without_a_place_is_that_of_no_other_chunk(number: int) -> None:
    store = CountingStore(TEN)
    made = compose([*hits_of(TEN, {1: 0.9}), SeedHit(make_chunk("d", number, "Owls hunt."), 0.5, "cut anew")], store)
    assert store.asked == [[Window("d", 0, 4)]]
    placed = [span for span in made.spans if span.doc_id == "d"]
    assert all(chunk is TEN[chunk.key] for span in placed for chunk in span.chunks)
    assert [(s.doc_id, s.text) for s in made.spans if s not in placed] == [("d (unplaced)", "Owls hunt.")]
    assert made.dropped == ()


def test_a_hit_without_a_place_is_no_pinned_chunk_of_its_number() -> None:
    hit, pinned = SeedHit(make_chunk("d", 4, "Owls hunt."), 0.5, "cut anew"), TEN["d", 4]
    made = compose([hit], TEN, pinned=[pinned])
    assert [(span.doc_id, span.text) for span in made.spans] == [("d", pinned.text), ("d (unplaced)", "Owls hunt.")]
    again = compose([hit], TEN, pinned=[hit.chunk])
    assert [(span.doc_id, span.text) for span in again.spans] == [("d", "Owls hunt.")]


def test_a_place_that_another_list_knows_counts() -> None:
    hit = hits_of(TEN, {1: 0.9})[0]
    lists = [[replace(hit, unplaced="cut anew")], [hit]]
    for given in (lists, lists[::-1]):
        made = compose(given, CountingStore(TEN))
        assert made.warnings == ()
        assert [note.chunk_id for note in made.trace.notes if note.role == "seed"] == [1]
        assert len(made.trace.windows[0]) == 4


@pytest.mark.parametrize(("limit", "requests"), [(1, 10), (3, 4), (9, 2), (10, 1), (100, 1)])
def test_a_batch_limit_makes_as_many_requests_as_it_must(limit: int, requests: int) -> None:
    store = CountingStore(TEN, limit)
    compose(hits_of(TEN, {1: 0.9, 2: 0.8, 8: 0.7}), store)  # 5 + 5 chunks are wanted
    assert len(store.asked) == requests
    assert max(sum(map(len, windows)) for windows in store.asked) <= limit


def test_without_growth_the_store_is_asked_for_the_hits_alone() -> None:
    # it knows their scopes, and may have a newer text
    store = CountingStore(TEN)
    compose(hits_of(TEN, {1: 0.9}), store, window=0)
    assert store.asked == [[Window("d", 1, 2)]]


def test_overrides_hold_for_one_call() -> None:
    composer = SpanComposer(RetrievalConfig(window=1), tokenizer=count_words)
    before = composer.config
    hits = hits_of(TEN, {5: 1.0})
    assert shown_ids(composer.retrieve(hits, TEN, window=0)) == [5]
    assert shown_ids(composer.retrieve(hits, TEN)) == [4, 5, 6]
    assert composer.config is before


def test_unknown_overrides_are_refused() -> None:
    with pytest.raises(ValueError, match="windoww"):
        compose([], TEN, windoww=1)
    with pytest.raises(ValueError, match="token_budget"):
        compose([], TEN, token_budget=-1)


def test_the_tokenizer_can_be_changed_for_one_call() -> None:
    composer = SpanComposer(tokenizer=count_words)
    hits = hits_of(TEN, {5: 1.0})
    assert composer.compose(hits, TEN, tokenizer="estimate").tokenizer == "estimate"
    assert composer.compose(hits, TEN).tokenizer.startswith("callable")


def test_a_batch_keeps_its_order_and_its_errors_apart() -> None:
    composer = SpanComposer(tokenizer=count_words)
    requests: list[Any] = [
        {"seed_hits": hits_of(TEN, {1: 1.0}), "chunk_store": TEN, "window": 0},
        {"seed_hits": hits_of(TEN, {2: 1.0}), "chunk_store": TEN, "window": -1},
        ComposeRequest(hits_of(TEN, {3: 1.0}), TEN, overrides={"window": 0}),
        {"seed_hits": ["nonsense"], "chunk_store": TEN},
    ]
    for workers in (1, 3):
        items = composer.compose_batch(requests, max_workers=workers)
        assert [shown_ids(item.composition.spans) if item.composition else None for item in items] == [
            [1], None, [3], None,
        ]  # fmt: skip
        assert isinstance(items[1].error, ValueError)
        with pytest.raises(RetrivexError, match="must be a SeedHit"):
            items[3].unwrap()
    assert composer.compose_batch([]) == []
    with pytest.raises(RetrivexError, match="max_workers is 0"):
        composer.compose_batch([], max_workers=0)


def test_several_lists_are_fused_by_rank() -> None:
    lists = [hits_of(TEN, {1: 0.9, 5: 0.8}), hits_of(TEN, {5: 31.0, 9: 2.0})]
    made = compose(lists, TEN, window=0, ordering_strategy="score_desc")
    assert made.spans[0].chunk_ids == [5]
    assert shown_ids(made.spans) == [1, 5, 9]


def test_a_quota_keeps_a_share_of_the_budget_for_each_list() -> None:
    strong = [SeedHit(TEN["d", i], 0.9 - i / 100) for i in range(0, 8, 2)]
    weak = hits_of(TEN, {9: 0.1})
    shared: dict[str, Any] = {"window": 0, "token_budget": 30, "run_cost": 0.0}
    made = compose([strong, weak], TEN, quotas="equal", **shared)
    assert 9 in shown_ids(made.spans)
    favoured = compose([strong, weak], TEN, quotas=(1.0, 0.0), **shared)
    assert 9 not in shown_ids(favoured.spans)
    with pytest.raises(RetrivexError, match="for 2 hit lists: give one share for each list"):
        compose([strong, weak], TEN, quotas=(1.0,))


def test_the_share_of_a_list_that_found_nothing_is_the_others() -> None:
    found = [SeedHit(TEN["d", i], 0.9 - i / 100) for i in range(0, 8, 2)]
    shared: dict[str, Any] = {"window": 0, "token_budget": 30, "run_cost": 0.0}
    alone = compose([found], TEN, **shared)
    for quotas in ("equal", (1.0, 1.0, 1.0), (0.0, 0.0, 1.0)):
        made = compose([[], found, []], TEN, quotas=quotas, **shared)
        assert shown_ids(made.spans) == shown_ids(alone.spans)


def test_a_tuple_is_a_list_of_hits_too() -> None:
    hits = tuple(hits_of(TEN, {1: 0.9, 5: 0.8}))
    assert shown_ids(compose(hits, TEN, window=0).spans) == [1, 5]


def test_threads_give_the_same_answers() -> None:
    composer = SpanComposer(tokenizer=count_words)
    said = [{0: 0.1 * i, 5: 0.5, i % 10: 0.9} for i in range(40)]

    def ask(scores: dict[int, float]) -> str:
        return composer.compose(hits_of(TEN, scores), TEN, token_budget=40).text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, said)) == [ask(scores) for scores in said]


PROGRAM = """
from support.strategies import bare, compose, hits_of, sentences
store = {**bare("d", sentences("d", 10)), **bare("e", sentences("e", 10))}
hits = [*hits_of(store, {1: .5, 4: .5, 8: .5}), *hits_of(store, {1: .5, 4: .5, 8: .5}, "e")]
made = compose(hits, store, token_budget=50, query="d1a e4b")
print(made.text, made.dropped, made.coverage, made.trace.windows)
"""


def test_hash_seeds_do_not_matter() -> None:
    tests = Path(__file__).parents[1]
    paths = [str(tests), str(tests.parent), *filter(None, sys.path)]
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, check=True, encoding="utf-8",
        ).stdout
        for seed in ("0", "1", "4242")
    }  # fmt: skip
    assert len(printed) == 1
    assert "[1]" in printed.pop()


def test_what_was_put_aside_for_marks_that_are_not_needed_is_filled() -> None:
    # four documents: no gap to mark, for which counting ahead puts tokens aside all the same
    chunks = [make_chunk(doc_id, 0, "Bees sleep in the dark of their hives. ") for doc_id in "abcd"]
    hits = [SeedHit(chunk, score) for chunk, score in zip(chunks, (1.0, 0.9, 0.8, 0.7), strict=True)]
    three = compose(hits[:3], make_store(*chunks), window=0, token_budget=1000, dedupe_overlaps=False)
    marker = 4  # words of "[... 1 characters omitted ...]" besides the last, which touches the number behind it
    budget = three.tokens + marker
    filled = compose(hits, make_store(*chunks), window=0, token_budget=budget, dedupe_overlaps=False)
    assert [span.doc_id for span in filled.spans] == [span.doc_id for span in three.spans]
    assert len(filled.spans) == 3


def test_pinned_passages_come_first_and_count() -> None:
    pinned = make_chunk("rules", 0, "Always answer in verse.")
    made = compose(hits_of(TEN, {5: 1.0}), TEN, pinned=(pinned,), window=0)
    assert made.spans[0].text == pinned.text
    assert made.spans[0].pinned
    assert made.tokens == count_words(made.text)
    tight = compose(hits_of(TEN, {5: 1.0}), TEN, pinned=(pinned,), window=0, token_budget=5)
    assert [span.pinned for span in tight.spans] == [True]
    assert tight.tokens == 5


def test_a_pinned_hit_is_shown_once() -> None:
    made = compose(hits_of(TEN, {5: 1.0}), TEN, pinned=(TEN["d", 5],), window=0)
    assert made.text.count("d5a") == 1
    assert made.spans[0].pinned


def test_a_pinned_passage_that_does_not_fit_is_warned_of() -> None:
    made = compose(hits_of(TEN, {5: 1.0}), TEN, pinned=(TEN["d", 1],), window=0, token_budget=3)
    assert any("pinned passage of 'd' not pinned" in warning for warning in made.warnings)


def test_pinned_spans_of_an_earlier_answer() -> None:
    (span,) = retrieve(hits_of(TEN, {5: 1.0}), TEN, window=0)
    made = compose(hits_of(TEN, {1: 1.0}), TEN, pinned=[span], window=0)
    assert [s.chunk_ids for s in made.spans] == [[5], [1]]


@pytest.mark.parametrize("pinned", [("a text",), (5,), ({"text": "x"},)])
def test_only_chunks_and_spans_can_be_pinned(pinned: Any) -> None:
    with pytest.raises(RetrivexError, match="pin chunks or spans"):
        compose([], TEN, pinned=pinned)


def test_the_same_text_indexed_twice_is_shown_once() -> None:
    text = "Honey bees store nectar in their combs for the winter."
    store = make_store(make_chunk("d", 0, text), make_chunk("copy", 0, text))
    hits = [SeedHit(store["d", 0], 0.9), SeedHit(store["copy", 0], 0.8)]
    made = compose(hits, store)
    assert made.text.count("Honey bees") == 1
    assert [(hit.doc_id, hit.reason) for hit in made.dropped] == [("copy", "duplicate_text")]


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(RetrivexError, match="query is list"):
        compose([], TEN, query=[0.1, 0.2])
    with pytest.raises(RetrivexError, match="config is dict"):
        SpanComposer({"window": 2})  # type: ignore[arg-type]
    with pytest.raises(RetrivexError, match=r"chunk_store is list: .*; of a list of Chunks make InMemoryChunkStore"):
        compose([], [])
    with pytest.raises(RetrivexError, match=r"chunk_store is the class InMemoryChunkStore: it must be"):
        compose([], InMemoryChunkStore)
    with pytest.raises(RetrivexError, match="parent_store is list"):
        compose([], {}, [])
    with pytest.raises(RetrivexError, match="query_embedding has shape"):
        compose(hits_of(TEN, {1: 1.0}), TEN, query_embedding=[0.0, 0.0])


def test_nothing_of_the_callers_is_changed() -> None:
    store = make_store(*(make_chunk("d", i, f"part {i}", embedding=[1.0, i / 9]) for i in range(9)))
    before = {key: (chunk, chunk.text, chunk.metadata, list(chunk.embedding or [])) for key, chunk in store.items()}
    hits = hits_of(store, {2: 0.4, 7: 0.6})
    order = list(hits)
    compose(hits, store, query="part", query_embedding=[1.0, 0.0])
    assert hits == order
    assert {k: (c, c.text, c.metadata, list(c.embedding or [])) for k, c in store.items()} == before


@pytest.mark.parametrize("workers", ["3", 0, 1.5, None])
def test_a_batch_needs_a_whole_number_of_threads(workers: Any) -> None:
    with pytest.raises(RetrivexError, match=r"max_workers is .*: it must be a whole number"):
        SpanComposer(tokenizer=count_words).compose_batch([], max_workers=workers)


def test_a_mapping_of_a_batch_may_hold_overrides_as_a_request_does() -> None:
    named: dict[str, Any] = {"seed_hits": hits_of(TEN, {5: 1.0}), "chunk_store": TEN, "overrides": {"window": 0}}
    wrong: Any = 5
    mapping, request, broken = SpanComposer(tokenizer=count_words).compose_batch(
        [named, ComposeRequest(**named), wrong]
    )
    assert mapping.unwrap().text == request.unwrap().text
    assert shown_ids(mapping.unwrap().spans) == [5]
    with pytest.raises(RetrivexError, match="request is int"):
        broken.unwrap()
