"""Documents of at most so many tokens are shown whole, within the budget."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import count_words, make_store, sentences, shown_ids, tile

from retrivex import Chunk, RetrievalConfig, RetriVex, SeedHit, SpanComposer, Window
from retrivex.errors import ConfigError
from retrivex.model.chunk import ChunkKey
from retrivex.stores import fetch_from_mapping

COMPOSER = SpanComposer(RetrievalConfig(window=0, numbered=False, gap_markers=False), tokenizer=count_words)
SIZES = {"s": 3, "m": 5, "l": 30}  # chunks of seven words


def documents(*, counted: bool = True) -> dict[ChunkKey, Chunk]:
    made: dict[ChunkKey, Chunk] = {}
    for name, count in SIZES.items():
        chunks = tile(name, sentences(name, count), chunk_count=count if counted else None)
        for key, chunk in chunks.items():  # a heading above each chunk, where windows stop
            metadata = replace(chunk.metadata, heading_path=[name, str(key[1])])
            made[key] = Chunk(chunk.text, metadata)
    return made


STORE = documents()


def hits(*keys: ChunkKey, store: dict[ChunkKey, Chunk] = STORE) -> list[SeedHit]:
    return [SeedHit(store[key], 0.9 - at / 10) for at, key in enumerate(keys)]


def shown(made: Any) -> dict[str, list[int]]:
    return {span.doc_id: span.chunk_ids for span in made.spans}


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "uncounted"])
@pytest.mark.parametrize("query", ["s1a m3b l9c", None], ids=["calibrated", "weighted"])
@pytest.mark.parametrize("effort", ["standard", "full"])
def test_short_documents_are_shown_whole_and_long_ones_are_not(counted: bool, query: str | None, effort: str) -> None:
    store = documents(counted=counted)
    found = hits(("s", 1), ("m", 3), ("l", 9), store=store)
    made = COMPOSER.compose(found, store, query=query, effort=effort, token_budget=200, whole_documents=35)
    assert shown(made) == {"s": [0, 1, 2], "m": [0, 1, 2, 3, 4], "l": [9]}
    assert made.trace.selection["whole_documents"] == ["m", "s"]
    assert shown(COMPOSER.compose(found, store, query=query, whole_documents=34))["m"] == [3]
    assert "whole_documents" not in COMPOSER.compose(found, store, query=query).trace.selection
    assert (
        asyncio.run(COMPOSER.acompose(found, store, query=query, effort=effort, token_budget=200, whole_documents=35))
        == made
    )


def test_the_better_one_is_whole_where_the_budget_holds_one() -> None:
    made = COMPOSER.compose(hits(("s", 1), ("m", 3)), STORE, query="s1a m3b", token_budget=30, whole_documents=100)
    assert shown(made) == {"s": [0, 1, 2], "m": [3]}
    assert made.trace.selection["whole_documents"] == ["s"]
    assert made.tokens == 28


@given(
    st.lists(st.sampled_from(sorted(STORE)), min_size=1, max_size=6, unique=True),
    st.integers(0, 150),
    st.integers(1, 250),
    st.sampled_from([None, "s1a l9c", "m3b"]),
    st.fixed_dictionaries(
        {},
        optional={
            "effort": st.sampled_from(["lean", "full"]),
            "window": st.integers(0, 2),
            "max_spans": st.just(1),
            "max_tokens_per_document": st.just(20),
            "selection_unit": st.sampled_from(["chunk", "span"]),
            "exclude": st.just((("m", 0, 20),)),
            "keep_top": st.integers(0, 2),
            "numbered": st.booleans(),
        },
    ),
)
def test_the_budget_is_kept_and_what_is_called_whole_is(
    keys: list[ChunkKey], budget: int, limit: int, query: str | None, options: dict[str, Any]
) -> None:
    made = COMPOSER.compose(hits(*keys), STORE, query=query, token_budget=budget, whole_documents=limit, **options)
    assert made.tokens <= budget
    for name in made.trace.selection["whole_documents"]:
        assert 7 * SIZES[name] <= limit
        assert shown_ids(made.spans, name) == list(range(SIZES[name]))
    if budget >= 60 and limit >= 35 and not options.keys() - {"window", "numbered", "effort"}:
        assert {"s", "m"} & set(shown(made)) <= set(made.trace.selection["whole_documents"])


class Counting:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.windows: list[Window] = []

    def fetch(self, windows: Any, scope: Any = None) -> list[Chunk]:
        self.windows += windows
        return fetch_from_mapping(STORE, windows)


def test_one_request_fetches_all_of_it() -> None:
    store = Counting()
    made = COMPOSER.compose(hits(("s", 1), ("m", 3), ("l", 9)), store, query="s1a", whole_documents=35)
    assert made.trace.requests == 1
    assert sorted(map(len, store.windows)) == [1, 3, 5]  # the long one is known to be long


@pytest.mark.parametrize("missing", [0, 2, 4])
def test_a_document_with_a_hole_or_with_what_may_not_be_seen_is_not_whole(missing: int) -> None:
    key = ("m", missing)
    secret = Chunk(STORE[key].text, replace(STORE[key].metadata, scope="b"))
    for store in ({k: c for k, c in STORE.items() if k != key}, {**STORE, key: secret}):
        made = COMPOSER.compose(hits(("m", 3)), store, query="m3b", whole_documents=100)
        assert made.trace.selection["whole_documents"] == []
        assert shown(made) == {"m": [3]}


def test_overlapping_chunks_count_once() -> None:
    text = "".join(sentences("o", 4))
    ends = [text.index(f"o{n}a") for n in range(4)] + [len(text)]
    chunks = [
        Chunk(text[ends[n] : ends[n + 2]], replace(STORE["s", 0].metadata, doc_id="o", chunk_id=n, chunk_count=3,
              char_start=ends[n], char_end=ends[n + 2]))
        for n in range(3)
    ]  # fmt: skip
    store = make_store(*chunks)
    made = COMPOSER.compose([SeedHit(chunks[0], 0.9)], store, query="o0a", whole_documents=28)
    assert made.trace.selection["whole_documents"] == ["o"]
    assert made.tokens == 28


def test_only_documents_that_may_grow_are_shown_whole() -> None:
    found = hits(("s", 1), ("m", 3))
    made = COMPOSER.compose(found, STORE, query="s1a m3b", whole_documents=100, expand_top_documents=1)
    assert shown(made) == {"s": [0, 1, 2], "m": [3]}


class Listed:
    def retrieve(self, question: str, k: int = 50, scope: Any = None) -> list[SeedHit]:
        return hits(("s", 1), ("m", 3))[:k]


def test_ask_takes_it() -> None:
    rag = RetriVex(STORE, config=COMPOSER.config, retriever=Listed())
    made = rag.ask("s1a m3b", whole_documents=1000)
    assert shown(made) == {"s": [0, 1, 2], "m": [0, 1, 2, 3, 4]}
    assert asyncio.run(rag.aask("s1a m3b", whole_documents=1000)).text == made.text


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "100"])
def test_what_is_no_number_of_tokens_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"whole_documents is .*: it must be a number of tokens from 1 on, or None"):
        COMPOSER.compose(hits(("s", 1)), STORE, whole_documents=wrong)


@pytest.mark.parametrize("best", [("m", 0), ("m", 4)])
def test_a_document_with_a_gap_is_not_whole_and_loses_no_hit(best: ChunkKey) -> None:
    store = {key: chunk for key, chunk in documents(counted=False).items() if key != ("m", 2)}
    found = hits(*sorted({("m", 0), ("m", 4)}, key=lambda key: key != best), store=store)
    made = COMPOSER.compose(found, store, query="m0a m4b", whole_documents=60)
    assert sorted(number for span in made.spans for number in span.chunk_ids) == [0, 4]
    assert made.trace.selection["whole_documents"] == []
    assert made.dropped == ()
