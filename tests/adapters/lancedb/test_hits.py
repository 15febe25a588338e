"""LanceDB: hits, their scores, and vectors."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
from support.lancedb_tables import NAME, fill, noting_queries, vectors

from retrivex.adapters.base.fields import MakeId
from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBRetriever, colon_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        ("cosine", [1.0, 0.8, -1.0]),
        ("dot", [5.0, 4.0, -5.0]),
        ("l2", [-16.0, -18.0, -36.0]),
        (None, [-16.0, -18.0, -36.0]),
    ],
)
def test_hits_come_best_first_whatever_the_metric(
    metric: Any, scores: list[float], lance: lancedb.DBConnection
) -> None:
    columns = {"text": ["text 0", "text 1", "text 2"], "doc_id": ["d"] * 3, "chunk_id": [0, 1, 2]}
    lance.create_table(NAME, pa.table({**columns, "vector": vectors([[-5, 0], [4, 3], [5, 0]])}))
    hits = LanceDBRetriever(lance, NAME, lambda text: [1.0, 0.0], metric=metric).retrieve("x", k=3)
    assert [hit.key for hit in hits] == [("d", 2), ("d", 1), ("d", 0)]
    assert [hit.similarity_score for hit in hits] == pytest.approx(scores, abs=1e-5)


def test_the_metric_is_that_of_the_vector_index(lance: lancedb.DBConnection) -> None:
    drawn = np.random.default_rng(3).standard_normal((600, 8)).astype(np.float32)
    columns = {"text": [f"{n}" for n in range(600)], "doc_id": ["d"] * 600, "chunk_id": range(600)}
    table = lance.create_table(NAME, pa.table({**columns, "vector": vectors(drawn)}))
    table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_FLAT", num_partitions=1)
    question = drawn[7]
    cosines = drawn @ question / np.linalg.norm(drawn, axis=1) / np.linalg.norm(question)
    best = np.argsort(-cosines)[:3]
    expected = [(("d", int(n)), pytest.approx(float(cosines[n]), abs=1e-4)) for n in best]
    retriever = LanceDBRetriever(lance, NAME, lambda text: question)
    assert [(hit.key, hit.similarity_score) for hit in retriever.retrieve("x", k=3)] == expected
    other = asyncio.run(lancedb.connect_async(lance.uri))
    found = asyncio.run(LanceDBRetriever(other, NAME, lambda text: question).aretrieve("x", k=3))
    assert [(hit.key, hit.similarity_score) for hit in found] == expected


def test_a_question_costs_one_query(lance: lancedb.DBConnection) -> None:
    chunks = contract_chunks()
    fill(lance, chunks)
    other = asyncio.run(lancedb.connect_async(lance.uri))
    retriever = LanceDBRetriever(lance, NAME, lambda question: chunks[7].embedding, async_connection=other)
    with noting_queries() as asked:
        first = retriever.retrieve("x", k=5)
        assert (len(asked), first[0].key) == (1, chunks[7].key)
        assert asyncio.run(retriever.aretrieve("x", k=5)) == first
        assert len(asked) == 2


@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_HNSW_SQ"])
def test_an_approximate_index_gives_all_hits_also_for_a_small_tenant(kind: Any, lance: lancedb.DBConnection) -> None:
    n = 6000
    drawn = np.random.default_rng(3).standard_normal((n, 8)).astype(np.float32)
    scopes = ["acme" if i % 300 == 0 else None for i in range(n)]
    columns = {"text": ["x"] * n, "doc_id": ["d"] * n, "chunk_id": range(n), "scope": scopes}
    table = lance.create_table(NAME, pa.table({**columns, "vector": vectors(drawn)}))
    table.create_index(metric="cosine", vector_column_name="vector", index_type=kind, num_partitions=64)
    other = asyncio.run(lancedb.connect_async(lance.uri))
    retriever = LanceDBRetriever(lance, NAME, lambda question: drawn[5], async_connection=other)
    cosines = drawn @ drawn[5] / np.linalg.norm(drawn, axis=1) / np.linalg.norm(drawn[5])
    best = sorted(range(0, n, 300), key=lambda number: -cosines[number])
    for k in (5, 20, 50):
        sync, later = retriever.retrieve("x", k=k, scope="acme"), retriever.aretrieve("x", k=k, scope="acme")
        for hits in (sync, asyncio.run(later)):
            numbers = [hit.chunk.metadata.chunk_id for hit in hits]
            assert [hit.similarity_score for hit in hits] == pytest.approx(cosines[numbers].tolist(), abs=1e-4)
            assert len(hits) == min(k, 20)
            assert k < 20 or numbers == best  # before that, an index is only nearly right


def test_several_vector_columns(lance: lancedb.DBConnection) -> None:
    columns = {"text": ["0", "1", "2"], "long": vectors([[1, n, 0] for n in range(3)])}
    lance.create_table(NAME, pa.table({**columns, "short": vectors([[n, 0] for n in range(3)])}))
    retriever = LanceDBRetriever(lance, NAME, lambda question: [2, 0], vector_name="short", with_vectors=True)
    hits = retriever.retrieve("x", k=2)
    assert [(hit.chunk.text, hit.similarity_score) for hit in hits] == [("2", 0.0), ("1", -1.0)]
    assert np.asarray(hits[1].chunk.embedding).tolist() == [1.0, 0.0]
    for name in (None, "medium"):
        with pytest.raises(StoreError, match=r"has the vector columns .'long', 'short'.: vector_name is "):
            LanceDBRetriever(lance, NAME, lambda question: [2, 0], vector_name=name).retrieve("x")


@pytest.mark.parametrize("with_vectors", [True, False])
@pytest.mark.parametrize("make_id", [None, colon_id])
def test_vectors_come_where_they_are_asked_for(
    with_vectors: bool, make_id: MakeId | None, lance: lancedb.DBConnection
) -> None:
    chunks = contract_chunks(1, 3)
    fill(lance, chunks)
    for chunk in LanceDBChunkStore(lance, NAME, make_id=make_id, with_vectors=with_vectors).fetch(
        [Window("doc-0", 0, 3)]
    ):
        expected = chunks[chunk.metadata.chunk_id].embedding if with_vectors else None
        assert np.array_equal(chunk.embedding, expected) if with_vectors else chunk.embedding is None  # type: ignore[arg-type]
        assert "vector" not in chunk.metadata.custom_metadata
