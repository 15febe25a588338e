"""Hits on summaries and questions: the composition shows what these were made of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, Document, RetrievalConfig, RetriVex, SeedHit
from retrivex.errors import ChunkError, StoreError
from retrivex.retrieval.originals import Originals, derived_document, original_of
from retrivex.stores import InMemoryChunkStore, SQLiteStore

TEXTS = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs.", "Drones do not work."]
CONFIG = RetrievalConfig(token_budget=500, tokenizer="estimate", window=0)


def chunk(number: int, scope: str | None = None) -> Chunk:
    start = sum(len(text) + 1 for text in TEXTS[:number])
    return Chunk(TEXTS[number], ChunkMetadata("bees", number, start, start + len(TEXTS[number]), scope=scope))


CHUNKS = {("bees", number): chunk(number) for number in range(len(TEXTS))}


def derived(*originals: int, scope: str | None = None) -> list[Chunk]:
    pairs = [(chunk(number, scope), f"Question {at} on it?") for at, number in enumerate(originals)]
    return derived_document("questions", pairs)[1]


class Listed:
    """Gives the hits it was given."""

    def __init__(self, *hits: SeedHit) -> None:
        self.hits = list(hits)

    def retrieve(self, question: str, k: int = 50, scope: Any = None) -> list[SeedHit]:
        return self.hits[:k]


def ask(*hits: SeedHit, store: Any = CHUNKS, **options: Any) -> Any:
    asked = RetriVex(store, config=CONFIG, retriever=Listed(*hits))
    made = asked.ask("Who is the queen?", **options)
    assert asyncio.run(asked.aask("Who is the queen?", **options)) == made
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as made:
        made.put(Document("bees", " ".join(TEXTS)), list(CHUNKS.values()))
        made.put(*derived_document("questions", [(CHUNKS["bees", 1], "Which monarch rules?")]))
        yield made


def test_a_question_that_was_found_shows_its_original_with_its_neighbours(store: SQLiteStore) -> None:
    asked = RetriVex(store, config=CONFIG)
    made = asked.ask("monarch", effort="full")
    assert made.text == "[1] A hive has one queen."
    assert {citation.doc_id for citation in made.citations} == {"bees"}
    assert asked.ask("monarch", window=1, effort="full").text == f"[1] {' '.join(TEXTS[:3])}"


def test_several_derived_hits_count_once_with_the_best_score() -> None:
    one, two, three = derived(1, 1, 2)
    hits = [SeedHit(one, 0.3), SeedHit(CHUNKS["bees", 2], 0.5), SeedHit(two, 0.9), SeedHit(three, 0.4)]
    found, dropped = Originals(CHUNKS).show(hits)
    assert [(hit.key, hit.similarity_score) for hit in found] == [(("bees", 1), 0.9), (("bees", 2), 0.5)]
    assert dropped == []
    nearest, _ = Originals(CHUNKS, score_kind="distance").show(hits)
    assert [hit.similarity_score for hit in nearest] == [0.3, 0.4]


def test_a_missing_original_is_said() -> None:
    lost, found = derived(3, 1)
    without = {key: chunk for key, chunk in CHUNKS.items() if key != ("bees", 3)}
    made = ask(SeedHit(lost, 0.9), SeedHit(found, 0.8), store=without)
    assert made.text == "[1] A hive has one queen."
    (dropped,) = made.dropped
    assert (dropped.doc_id, dropped.chunk_id, dropped.reason) == ("questions", 0, "no_text")
    assert "('bees', 3), is not in the store" in dropped.detail
    assert any("left out for 1 missing originals, first: what it was made" in warning for warning in made.warnings)
    nothing = ask(SeedHit(lost, 0.9), store=without)
    assert nothing.text == ""
    assert [warning for warning in nothing.warnings if "limits" in warning or "no hits were given" in warning] == []


def test_the_scope_of_the_original_counts() -> None:
    store = InMemoryChunkStore([chunk(1, "acme")])
    hit = SeedHit(derived(1)[0], 0.9)  # the question itself says nothing of a scope
    assert ask(hit, store=store, scope="acme").text == "[1] A hive has one queen."
    for scope in (None, "other"):
        made = ask(hit, store=store, scope=scope)
        assert made.text == ""
        assert made.dropped[0].reason == "no_text"
        assert "or not for this caller" in made.dropped[0].detail


def test_limits_count_originals() -> None:
    made = ask(*(SeedHit(one, 0.9) for one in derived(1, 1, 1)), max_chunks_per_document=1)
    assert made.dropped == ()
    assert "queen" in made.text


def test_hits_that_are_not_derived_cost_no_request() -> None:
    class Failing:
        def fetch(self, windows: Any, scope: Any = None) -> Any:
            raise OSError("no store")

    hits = [SeedHit(CHUNKS["bees", 1], 0.5), SeedHit(CHUNKS["bees", 1], 0.7)]
    assert Originals(Failing()).show(hits) == (hits, [])
    with pytest.raises(StoreError, match="no store"):
        Originals(Failing()).show([SeedHit(derived(1)[0], 0.5)])


def test_an_original_that_is_missing_is_missing_once() -> None:
    one, two, found = derived(3, 3, 1)
    without = {key: chunk for key, chunk in CHUNKS.items() if key != ("bees", 3)}
    lists = {"What is?": [SeedHit(one, 0.4), SeedHit(found, 0.8)], "And?": [SeedHit(two, 0.9), SeedHit(one, 0.5)]}
    shown, dropped = Originals(without).show(lists)
    assert {question: [hit.key for hit in hits] for question, hits in dict(shown).items()} == {
        "What is?": [("bees", 1)],
        "And?": [],
    }
    assert [(hit.chunk_id, hit.similarity_score) for hit in dropped] == [(1, 0.9)]
    (far,) = Originals(without, score_kind="distance").show(lists)[1]
    assert (far.chunk_id, far.similarity_score) == (0, 0.4)


@pytest.mark.parametrize("named", [("bees", -1), ("bees", "x"), (7, 1), ("bees", True), ("bees", None)])
def test_what_names_no_place_of_a_chunk_stays_and_is_said(named: tuple[Any, Any]) -> None:
    custom = dict(zip(("original_doc_id", "original_chunk_id"), named, strict=True))
    odd = Chunk("Which monarch rules?", ChunkMetadata("questions", 9, custom_metadata=custom))
    made = ask(SeedHit(odd, 0.9), SeedHit(derived(2)[0], 0.8), SeedHit(CHUNKS["bees", 0], 0.7))
    assert "Which monarch rules?" in made.text
    assert TEXTS[2] in made.text
    (warning,) = [one for one in made.warnings if "is no name of a document and number of a chunk" in one]
    assert f"1 hits stay as they are, first ('questions', 9): what it was made of, {named!r}, is no name" in warning


def test_numbers_that_a_store_keeps_as_floats_name_chunks() -> None:
    custom = {"original_doc_id": "bees", "original_chunk_id": 1.0}
    assert original_of(Chunk("Which?", ChunkMetadata("questions", 0, custom_metadata=custom))) == ("bees", 1)


@pytest.mark.parametrize("named", [("bees", -1), ("bees", "x"), (7, 1), ("bees", 10**30), ("own", 0), ("bees", None)])
def test_what_names_no_other_chunk_is_a_hit_as_it_is(named: tuple[Any, Any]) -> None:
    custom = dict(zip(("original_doc_id", "original_chunk_id"), named, strict=True))
    assert original_of(Chunk("Own.", ChunkMetadata("own", 0, custom_metadata=custom))) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.floats(0, 1)), min_size=1, max_size=8))
def test_every_original_comes_once_with_its_best_score(given_hits: list[tuple[int, bool, float]]) -> None:
    chunks = derived(*(number for number, _, _ in given_hits))
    hits = [
        SeedHit(chunks[at] if is_derived else CHUNKS["bees", number], score)
        for at, (number, is_derived, score) in enumerate(given_hits)
    ]
    found, dropped = Originals(CHUNKS).show(hits)
    assert dropped == []
    for number in {number for number, is_derived, _ in given_hits if is_derived}:
        scores = [score for other, _, score in given_hits if other == number]
        assert [hit.similarity_score for hit in found if hit.key == ("bees", number)] == [max(scores)]


def test_a_derived_document_is_of_one_scope() -> None:
    with pytest.raises(ChunkError, match="2 scopes"):
        derived_document("questions", [(chunk(0, "a"), "A?"), (chunk(1, "b"), "B?")])
    document, chunks = derived_document("questions", [(chunk(0, "a"), " A? "), (chunk(1, "a"), "B?")])
    assert (document.text, document.scope) == ("A?\nB?", "a")
    assert [document.text[one.metadata.char_start : one.metadata.char_end] for one in chunks] == ["A?", "B?"]
