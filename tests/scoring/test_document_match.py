"""Which document is meant: by its name, by rare words, and nothing where names tell nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import compose, make_chunk, make_store

from retrivex import Chunk, Composition, SeedHit
from retrivex.model.chunk import ChunkKey
from retrivex.scoring.document_match import DocumentMatch, match_names, rarity_sums
from retrivex.scoring.term_index import TermIndexer

TEXT = "They feed on what the colony stored in summer. Some of them leave the nest. The old queen dies in autumn. "
ANIMALS = ("bees", "wasps", "ants", "hornets")


def match(question: str, *chunks: Chunk) -> DocumentMatch:
    return match_names(question, chunks, TermIndexer())


def meant(question: str, *chunks: Chunk) -> str | None:
    found = match(question, *chunks)
    return None if found.meant is None else list(found.numbers)[found.meant]


def named(doc_id: str, **metadata: Any) -> Chunk:
    return make_chunk(doc_id, 0, TEXT, 0, **metadata)


@pytest.mark.parametrize(
    "chunk",
    [
        named("wasps"),
        named("d1", custom_metadata={"title": "The life of wasps"}),
        named("d1", custom_metadata={"source": "library/wasps.pdf"}),
        named("d1", heading_path=("Wasps", "Food")),
        named("LifeOfWasps.md"),
        named("life_of_wasps"),
    ],
    ids=["doc_id", "title", "source", "top heading", "written together", "underscores"],
)
def test_a_document_is_meant_by_its_name(chunk: Chunk) -> None:
    assert meant("What do wasps eat?", named("bees"), chunk, named("ants")) == chunk.metadata.doc_id


@pytest.mark.parametrize(
    ("doc_id", "question", "word"),
    [
        ("Mu\u0308nchen.md", "Wo liegt München?", "München"),
        ("Straßen.md", "Welche STRASSEN?", "STRASSEN"),
        ("βιβλιοθήκη", "Πού είναι η βιβλιοθηκη;", "βιβλιοθηκη"),
    ],
)
def test_a_name_may_be_spelt_otherwise(doc_id: str, question: str, word: str) -> None:
    chunks = [named("bees"), named(doc_id), named("ants")]
    assert meant(question, *chunks) == doc_id
    assert word in match(question, *chunks).explain(question)["words"]  # type: ignore[operator]


def test_a_heading_names_a_document_only_where_all_of_it_stands_under_it() -> None:
    parts = [make_chunk("d1", at, TEXT, at * 200, heading_path=(top,)) for at, top in enumerate(("Wasps", "Ants"))]
    assert meant("What do wasps eat?", named("bees"), *parts) is None


def test_words_of_every_name_tell_nothing() -> None:
    assert meant("Which annual report is it?", named("annual report 2023"), named("annual report 2024")) is None
    assert meant("The annual report of 2024?", named("annual report 2023"), named("annual report 2024")) == (
        "annual report 2024"
    )


def test_a_small_word_in_a_name_names_nothing() -> None:
    store = library()
    chunk = make_chunk("some history of them", 0, TEXT, 0)
    hits = [SeedHit(store[name, 1], 0.5) for name in ANIMALS] + [SeedHit(chunk, 0.5)]
    made = compose(hits, {**store, chunk.key: chunk}, query="Do some of them leave the nest?", window=0)
    assert made.trace.document == {}


def test_one_document_is_never_singled_out() -> None:
    assert meant("What do wasps eat?", named("wasps")) is None
    assert meant("What do wasps eat?") is None


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=6))
def test_rarity_is_never_negative_and_goes_by_what_others_lack(rows: list[list[bool]]) -> None:
    holds = np.array(rows, dtype=np.bool_).reshape(len(rows), 3)
    sums = rarity_sums(holds, holds)
    assert (sums >= 0).all()
    everywhere = np.vstack([holds, np.ones((1, 3), dtype=np.bool_)])
    np.testing.assert_allclose(rarity_sums(everywhere, everywhere), sums)
    assert (rarity_sums(holds, np.ones_like(holds)) == 0).all()


def library() -> dict[ChunkKey, Chunk]:
    """Four documents of the same words, three chunks each."""
    chunks = []
    for name in ANIMALS:
        for at in range(3):
            chunks.append(make_chunk(name, at, TEXT, at * len(TEXT), chunk_count=3))
    return make_store(*chunks)


def asked(question: str, **options: Any) -> Composition:
    store = library()
    hits = [SeedHit(store[name, 1], 0.5) for name in ANIMALS]
    return compose(hits, store, query=question, token_budget=40, dedupe_overlaps=False, window=0, **options)


@pytest.mark.parametrize("name", ANIMALS)
def test_of_equal_texts_that_of_the_named_document_is_shown(name: str) -> None:
    made = asked(f"In the book on {name}: what do they feed on?")
    assert made.spans[0].doc_id == name
    assert made.trace.document == {"doc_id": name, "words": [name]}


def test_the_trace_names_no_document_where_none_is_meant() -> None:
    assert asked("What do they feed on?").trace.document == {}
    assert asked("In the book on wasps: what?", coefficients="0.2").trace.document == {}
    assert asked("In the book on wasps: what?", scoring="weighted").trace.document == {}


def test_a_question_that_is_only_a_name_still_looks_for_its_words() -> None:
    texts = ("Wasps sting. " * 8, "Rain falls on the hills. " * 8)
    store = make_store(*[make_chunk("wasps", at, text, at * 300) for at, text in enumerate(texts)], named("bees"))
    hits = [SeedHit(store[key], 0.5) for key in store]
    assert "sting" in compose(hits, store, query="wasps", token_budget=30, window=0).spans[0].text


class Asked:
    """A store that keeps what it was asked for."""

    def __init__(self, chunks: dict[ChunkKey, Chunk]) -> None:
        self.chunks = chunks
        self.requests: list[dict[str, int]] = []

    def fetch(self, windows: Any, scope: Any = None) -> list[Chunk]:
        self.requests.append({})
        for window in windows:
            lengths = self.requests[-1]
            lengths[window.doc_id] = lengths.get(window.doc_id, 0) + window.end - window.start
        return [c for k, c in self.chunks.items() if any(w.doc_id == k[0] and w.start <= k[1] < w.end for w in windows)]


def long_library() -> Asked:
    text = "The nest is built of paper and clay. " * 6
    chunks = [make_chunk(n, at, text, at * len(text), chunk_count=60) for n in ANIMALS for at in range(60)]
    return Asked(make_store(*chunks))


def test_a_named_document_is_read_further_in_the_same_request() -> None:
    plain, naming = long_library(), long_library()
    for store, question in ((plain, "How is it built?"), (naming, "In the book on wasps: how is it built?")):
        hits = [SeedHit(store.chunks[name, 30], 0.5) for name in ANIMALS]
        compose(hits, store, query=question, token_budget=60)
    assert len(plain.requests) == len(naming.requests) == 1
    assert naming.requests[0]["wasps"] > plain.requests[0]["wasps"]
    assert all(naming.requests[0][name] == plain.requests[0][name] for name in ANIMALS if name != "wasps")


def test_a_window_that_was_set_is_kept_for_a_named_document() -> None:
    store = long_library()
    hits = [SeedHit(store.chunks[name, 30], 0.5) for name in ANIMALS]
    compose(hits, store, query="In the book on wasps: how is it built?", token_budget=60, window=1)
    assert set(store.requests[0].values()) == {3}
