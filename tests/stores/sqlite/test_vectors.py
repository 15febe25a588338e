"""What the embedded store keeps beside the chunks: parents, token counts, embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.stored_pages import everything, page

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore
from retrivex.tokens import StoredCount


def test_parents_come_out_as_they_went_in(store: SQLiteStore) -> None:
    document, chunks = page("d", "one two", "three")
    section = Chunk("one two three", ChunkMetadata("d", 0, 0, 13, parent_id="d#all", heading_path=("A", "B")))
    store.put(document, chunks, {"d#0": section, "d#1": "plain"})
    assert store.fetch_parents(["d#0", "none", "d#1"]) == {"d#0": section, "d#1": "plain"}
    store.put(document, chunks, {"d#1": "other"})
    assert store.fetch_parents(["d#0", "d#1"]) == {"d#1": "other"}
    assert store.check() == []


def test_token_counts_are_given_out_for_the_tokenizer_that_counted(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two", "three")
    store.put(document, reversed(chunks), token_counts=[30, 20, 10], tokenizer="mine")
    store.put(*page("e", "four"))
    windows = [everything, Window("e", 0, 1)]
    counted = [(text, StoredCount.of(text, count, "mine")) for text, count in (("one", 10), ("two", 20), ("three", 30))]
    found = [(chunk.text, count) for chunk, count in store.fetch_counted(windows, tokenizer="mine")]
    assert found == [*counted, ("four", None)]
    assert [count for _, count in store.fetch_counted(windows, tokenizer="other")] == [None] * 4
    assert store.info().tokenizers == ("mine",)


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ({"token_counts": [1]}, "'d': pass token_counts and tokenizer together, or neither"),
        ({"tokenizer": "t"}, "'d': pass token_counts and tokenizer together"),
        ({"token_counts": [-5], "tokenizer": "t"}, r"token count of \('d', 0\) is -5: it must be a whole number"),
        ({"token_counts": [2.5], "tokenizer": "t"}, r"token count of \('d', 0\) is 2.5: it must be a whole number"),
        ({"token_counts": [10**30], "tokenizer": "t"}, r"token count of \('d', 0\) is 10+: it must be a whole number"),
        ({"token_counts": [1, 2], "tokenizer": "t"}, "'d' has 1 chunks and 2 token counts"),
        ({"embeddings": [[1.0]]}, "'d' comes with vectors without the name of their model"),
        ({"embeddings": [[1.0], [2.0]], "encoder": "m"}, "'d' has 1 chunks and 2 vectors: give one a chunk"),
        ({"embeddings": [[float("nan")]], "encoder": "m"}, "vector 0 of 'd' holds NaN or infinity"),
        ({"embeddings": [1.0], "encoder": "m"}, r"vectors of 'd' have the shape \(1,\)"),
        ({"embeddings": [["a"]], "encoder": "m"}, "vectors of 'd' are not one table of numbers"),
    ],
)
def test_counts_and_vectors_must_fit_the_chunks(store: SQLiteStore, extra: dict[str, Any], complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        store.put(*page("d", "one"), **extra)


def test_embeddings_come_out_at_length_one(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two", "three")
    store.put(document, reversed(chunks), embeddings=[[0.0, 0.0], [0.0, 1e200], [3.0, 4.0]], encoder="m")
    found = [chunk.embedding for chunk in store.fetch([everything])]
    np.testing.assert_allclose(np.array(found), [[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]], rtol=1e-6)
    assert store.vector_model == "m"
    with SQLiteStore(store.path, with_embeddings=False) as without:
        assert [chunk.embedding for chunk in without.fetch([everything])] == [None] * 3


def test_embeddings_of_the_chunks_are_taken_where_none_are_given(store: SQLiteStore) -> None:
    document, chunks = page("d", "one", "two")
    chunks[0].embedding = [2.0, 0.0]
    with pytest.raises(StoreError, match="1 of 2 chunks of 'd' have an embedding: give all one"):
        store.put(document, chunks, encoder="m")
    chunks[1].embedding = np.array([0.0, 5.0])
    store.put(document, chunks, encoder="m")
    assert store.info().vectors == 2


@pytest.mark.parametrize(
    ("vectors", "encoder", "complaint"),
    [
        ([[1.0, 0.0]], "other", "holds vectors of 'm' with 2 dimensions, these are of 'other' with 2"),
        ([[1.0, 0.0, 0.0]], "m", "holds vectors of 'm' with 2 dimensions, these are of 'm' with 3: use the"),
    ],
)
def test_vectors_of_another_model_are_refused_until_the_old_ones_are_dropped(
    store: SQLiteStore, vectors: list[list[float]], encoder: str, complaint: str
) -> None:
    store.put(*page("d", "one"), embeddings=[[1.0, 0.0]], encoder="m")
    with pytest.raises(StoreError, match=complaint):
        store.put(*page("e", "two"), embeddings=vectors, encoder=encoder)
    store.drop_vectors()
    assert store.vector_model is None
    assert store.put(*page("e", "two"), embeddings=vectors, encoder=encoder) == "added"
    assert store.put(*page("d", "one"), embeddings=vectors, encoder=encoder) == "updated"
    assert (store.info().vectors, store.vector_model) == (2, encoder)
    assert store.check() == []


def test_other_vectors_for_the_same_text_are_an_update(store: SQLiteStore) -> None:
    for expected in ("added", "unchanged"):
        assert store.put(*page("d", "one"), embeddings=[[1.0, 0.0]], encoder="m") == expected
    assert store.put(*page("d", "one"), embeddings=[[0.0, 1.0]], encoder="m") == "updated"
    assert store.search_vector([0.0, 1.0])[0].similarity_score == 1.0


def test_after_drop_vectors_the_same_model_is_indexed_again(store: SQLiteStore) -> None:
    store.put(*page("d", "one"), embeddings=[[1.0]], encoder="m")
    store.drop_vectors()
    assert store.put(*page("d", "one"), embeddings=[[1.0]], encoder="m") == "updated"
