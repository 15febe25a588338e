"""What a store holds after a crash: whole documents, and the same as a store that never crashed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore

SCOPES = {None, "acme"}
ROUNDING = 2e-6
"""By which a score of float32 may be off."""


def contents(store: SQLiteStore) -> dict[str, Any]:
    """Return all that can be asked of a store."""
    infos = list(store.documents())
    chunks = list(store.fetch([Window(info.doc_id, 0, 2**63) for info in infos], SCOPES))
    return {
        "documents": infos,
        "texts": [store.get_document(info.doc_id, SCOPES) for info in infos],
        "chunks": chunks,
        "vectors": [tuple(chunk.embedding) for chunk in chunks if chunk.embedding is not None],
        "parents": store.fetch_parents([f"{info.doc_id}#all" for info in infos], SCOPES),
        # BM25 depends on the statistics of the whole index: equal scores mean that nothing was left behind in it
        "words": [(hit.key, hit.similarity_score) for hit in store.search_text("piece word12 第2段", 1000, SCOPES)],
        "nearest": nearest(store, chunks),
    }


def nearest(store: SQLiteStore, chunks: Sequence[Chunk]) -> list[ChunkKey]:
    """Return the chunks that a search by vectors finds, each with the score of its vector, and the nearest first.

    Sums of float32 depend in their last digits on where in the file a vector lies: chunks whose scores are within
    rounding of each other may change places, so that the order of the hits is checked here, and not returned.
    """
    hits = store.search_vector(_ones(store), 1000, SCOPES)
    scores = {chunk.key: _score(chunk) for chunk in chunks}
    assert all(abs(hit.similarity_score - scores[hit.key]) < ROUNDING for hit in hits)
    assert_nearest_first([scores[hit.key] for hit in hits])
    return sorted(hit.key for hit in hits)


def _ones(store: SQLiteStore) -> list[float]:
    return [1.0] * (store.info().vector_dimension or 0)


def _score(chunk: Chunk) -> float:
    vector = np.asarray(chunk.embedding, dtype=np.float64)
    return float(vector.sum() / (np.sqrt(len(vector)) * np.linalg.norm(vector)))


def assert_nearest_first(scores: Sequence[float]) -> None:
    """No score is higher than one before it, further than rounding explains."""
    lowest = accumulate(scores, min)
    assert all(score <= before + 2 * ROUNDING for before, score in zip(lowest, scores[1:], strict=False))


def assert_documents_are_whole(store: SQLiteStore) -> None:
    """Every chunk of a document is there, of the same version, found by its words and its vector, with its text."""
    for info in store.documents():
        chunks = store.fetch([Window(info.doc_id, 0, 2**63)], SCOPES)
        assert [chunk.metadata.chunk_id for chunk in chunks] == list(range(info.chunk_count))
        assert len({state_of(chunk) for chunk in chunks}) == 1
        assert all(chunk.embedding is not None for chunk in chunks)
        document = store.get_document(info.doc_id, SCOPES)
        assert document is not None
        assert document.text == "".join(chunk.text for chunk in chunks)
        found = store.search_text(state_of(chunks[0]), 1000, SCOPES, {"doc_id": info.doc_id})
        assert len(found) == info.chunk_count
    if store.vector_model is not None:
        assert len(store.search_vector(_ones(store), 1000, SCOPES)) == store.info().vectors


def state_of(chunk: Chunk) -> str:
    return chunk.text.split()[4]
