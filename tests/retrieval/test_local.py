"""The local retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from retrivex.errors import EncoderError, StoreError
from retrivex.expansion.fusion import reciprocal_rank_fusion, relative_score_fusion
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore


class Colours:
    """Knows what has which colour: a model of three meanings."""

    name = "colours"

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        groups = (("red", "rose", "blood"), ("green", "grass", "frog"), ("blue", "sky", "sea"))
        return np.array([[0.01 + sum(text.count(word) for word in group) for group in groups] for text in texts])


TEXTS = {"rose": "a rose by any name", "grass": "grass grows", "sky": "the sky above", "sea": "the deep sea"}
FILLER = ("wind", "rain", "snow", "hail", "fog", "sun")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as opened:
        yield opened


def fill(store: SQLiteStore, *, with_vectors: bool) -> SQLiteStore:
    for name, text in TEXTS.items():
        chunk = Chunk(text, ChunkMetadata(name, 0, 0, len(text), scope="acme" if name == "sea" else None))
        vectors = Colours().encode([text]) if with_vectors else None
        store.put(Document(name, text), [chunk], embeddings=vectors, encoder="colours" if with_vectors else None)
    store.put(Document("filler", ""), [Chunk(text, ChunkMetadata("filler", i)) for i, text in enumerate(FILLER)])
    return store


def names(hits: Sequence[Any]) -> list[str]:
    return [hit.chunk.metadata.doc_id for hit in hits]


def test_bm25_goes_by_words(store: SQLiteStore) -> None:
    retriever = LocalRetriever(fill(store, with_vectors=True), mode="bm25")
    assert names(retriever.retrieve("what grows?")) == ["grass"]
    assert retriever.retrieve("green frogs") == []


def test_dense_goes_by_meaning(store: SQLiteStore) -> None:
    retriever = LocalRetriever(fill(store, with_vectors=True), Colours(), "dense")
    assert names(retriever.retrieve("green frogs", k=1)) == ["grass"]


def test_hybrid_is_the_fusion_of_both(store: SQLiteStore) -> None:
    fill(store, with_vectors=True)
    question = "blue name above"
    bm25 = LocalRetriever(store, mode="bm25").retrieve(question)
    dense = LocalRetriever(store, Colours(), "dense").retrieve(question)
    hybrid = LocalRetriever(store, Colours(), "hybrid")
    assert hybrid.retrieve(question) == relative_score_fusion([bm25, dense], (0.5, 0.5))
    assert hybrid.retrieve(question, k=1) == hybrid.retrieve(question)[:1]
    flat = LocalRetriever(store, Colours(), "hybrid", rrf_k=0).retrieve(question)
    assert flat == reciprocal_rank_fusion([bm25, dense], 0)
    before = LocalRetriever(store, Colours(), "hybrid", rrf_k=60).retrieve(question)
    assert before == reciprocal_rank_fusion([bm25, dense], 60)


def test_hybrid_scores_are_relative_and_the_best_of_one_list_counts_half(store: SQLiteStore) -> None:
    fill(store, with_vectors=True)
    hits = LocalRetriever(store, Colours(), "hybrid").retrieve("green name")
    found = {hit.chunk.metadata.doc_id: hit.similarity_score for hit in hits}
    # "name" is a word of the rose alone, green is what grass means: each is the best of one list
    assert (found["rose"], found["grass"]) == (pytest.approx(0.5, abs=0.01), 0.5)
    assert max(found[name] for name in found.keys() - {"rose", "grass"}) < 0.01
    assert all(0 <= score <= 1 for score in found.values())


def test_hybrid_without_a_word_in_common_is_the_order_of_the_vectors(store: SQLiteStore) -> None:
    fill(store, with_vectors=True)
    dense = LocalRetriever(store, Colours(), "dense").retrieve("green frogs")
    hybrid = LocalRetriever(store, Colours(), "hybrid").retrieve("green frogs")
    assert names(hybrid) == names(dense)
    assert hybrid[0].similarity_score == 0.5


def test_hybrid_of_one_chunk_and_of_equal_chunks_is_defined(store: SQLiteStore) -> None:
    fill(store, with_vectors=True)
    retriever = LocalRetriever(store, Colours(), "hybrid")
    (only,) = retriever.retrieve("the green sky", where={"doc_id": "sky"})
    assert only.similarity_score == 1.0
    with SQLiteStore(store.path.parent / "equal.db") as equal:
        for name in "ba":
            text = "green grass"
            chunk = Chunk(text, ChunkMetadata(name, 0, 0, len(text)))
            equal.put(Document(name, text), [chunk], embeddings=Colours().encode([text]), encoder="colours")
        hits = LocalRetriever(equal, Colours(), "hybrid").retrieve("green frogs")
    assert [(hit.key, hit.similarity_score) for hit in hits] == [(("a", 0), 1.0), (("b", 0), 1.0)]


def test_auto_uses_what_is_there_and_says_what_is_missing(store: SQLiteStore) -> None:
    with_encoder, without = LocalRetriever(store, Colours()), LocalRetriever(store)
    assert with_encoder.mode == "bm25"
    assert with_encoder.warnings == ("the store holds no vectors, so only words are searched: index with 'colours'",)
    assert (without.mode, without.warnings) == ("bm25", ())
    fill(store, with_vectors=True)
    assert (with_encoder.mode, with_encoder.warnings) == ("hybrid", ())
    assert without.mode == "bm25"
    assert without.warnings == (
        "the store holds vectors of 'colours', but no encoder was given, so only words are searched",
    )
    assert names(with_encoder.retrieve("green frogs", k=1)) == ["grass"]
    assert LocalRetriever(store, mode="bm25").warnings == ()


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid"])
def test_every_mode_minds_scope_and_filters(store: SQLiteStore, mode: Any) -> None:
    retriever = LocalRetriever(fill(store, with_vectors=True), Colours(), mode)
    question = "the sky, the deep blue sea"
    assert "sea" not in names(retriever.retrieve(question))
    assert names(retriever.retrieve(question, scope="acme")) == ["sea"]
    assert names(retriever.retrieve(question, where={"doc_id": ["sky"]})) == ["sky"]
    assert retriever.retrieve(question, k=0) == []
    assert asyncio.run(retriever.aretrieve(question)) == retriever.retrieve(question)


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid", "auto"])
def test_an_empty_question_finds_nothing(store: SQLiteStore, mode: Any) -> None:
    assert LocalRetriever(fill(store, with_vectors=True), Colours(), mode).retrieve("  \n") == []


@pytest.mark.parametrize("wrong", ["retrivex.db", {}])
def test_what_is_no_store_is_refused(wrong: Any) -> None:
    with pytest.raises(StoreError, match=r"store is (str|dict): it must be a SQLiteStore, as in SQLiteStore\('retr"):
        LocalRetriever(wrong)


def test_unknown_modes_are_refused(store: SQLiteStore) -> None:
    with pytest.raises(StoreError, match="mode is 'fuzzy': choose one of auto, bm25, dense, hybrid"):
        LocalRetriever(store, mode="fuzzy")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_dense_needs_an_encoder(store: SQLiteStore, mode: Any) -> None:
    with pytest.raises(StoreError, match=f"mode '{mode}' needs an encoder to read the question: pass encoder="):
        LocalRetriever(store, mode=mode)


def test_dense_needs_vectors(store: SQLiteStore) -> None:
    with pytest.raises(StoreError, match="holds no vectors: index with an encoder"):
        LocalRetriever(fill(store, with_vectors=False), Colours(), "dense").retrieve("green")


def test_vectors_of_another_model_are_refused_by_name(store: SQLiteStore) -> None:
    class Other(Colours):
        name = "other"

    retriever = LocalRetriever(fill(store, with_vectors=True), Other())
    with pytest.raises(StoreError, match="holds vectors of 'colours' with 3 dimensions, these are of 'other' with 3"):
        retriever.retrieve("green")


def test_an_encoder_gives_one_vector_a_question(store: SQLiteStore) -> None:
    class Flat(Colours):
        def encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
            return super().encode(texts)[0]

    retriever = LocalRetriever(fill(store, with_vectors=True), Flat())
    with pytest.raises(EncoderError, match=r"encoder 'colours' gave the shape \(3,\) for one question"):
        retriever.retrieve("green")


def test_a_question_is_text_and_where_a_mapping(store: SQLiteStore) -> None:
    wrong: Any = None
    with pytest.raises(StoreError, match="question is NoneType"):
        LocalRetriever(store).retrieve(wrong)
    wrong = "a"
    with pytest.raises(StoreError, match="where is 'a': it must be a mapping"):
        LocalRetriever(store).retrieve("bees", where=wrong)
