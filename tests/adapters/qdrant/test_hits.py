"""Qdrant: hits, their scores, and vectors."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

pytest.importorskip("qdrant_client")

from qdrant_client import QdrantClient, models
from support.qdrant_collections import Connection, fill

from retrivex.adapters.base.fields import MakeId
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantRetriever, uuid5_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        (models.Distance.COSINE, [1.0, 0.8, -1.0]),
        (models.Distance.DOT, [5.0, 4.0, -5.0]),
        (models.Distance.EUCLID, [0.0, -(10**0.5), -10.0]),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_hits_come_best_first_whatever_the_metric(
    metric: models.Distance, scores: list[float], local: bool, qdrant: Connection
) -> None:
    name = qdrant.name
    client = QdrantClient(":memory:") if local else qdrant.client
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=metric))
    vectors = {0: [-5.0, 0.0], 1: [4.0, 3.0], 2: [5.0, 0.0]}
    points = [
        models.PointStruct(id=n, vector=vector, payload={"text": f"text {n}", "doc_id": "d", "chunk_id": n})
        for n, vector in vectors.items()
    ]
    client.upsert(name, points)
    question = [1.0, 0.0] if metric == models.Distance.DOT else [5.0, 0.0]
    hits = QdrantRetriever(client, name, lambda text: question).retrieve("x", k=3)
    assert [hit.key for hit in hits] == [("d", 2), ("d", 1), ("d", 0)]
    assert [hit.similarity_score for hit in hits] == pytest.approx(scores, abs=1e-5)


def test_a_question_costs_one_request_and_the_first_one_the_metric(qdrant: Connection) -> None:
    client, server, name = qdrant.client, qdrant.server, qdrant.name
    fill(client, contract_chunks(), name=name)
    retriever = QdrantRetriever(client, name, lambda question: np.ones(8))
    before = len(server.requests)
    first = retriever.retrieve("x", k=5)
    assert [method for method, _ in server.requests[before:]] == ["GET", "POST"]
    assert retriever.retrieve("x", k=5) == first
    assert len(server.requests) == before + 3
    assert asyncio.run(retriever.aretrieve("x", k=5)) == first


@pytest.mark.parametrize("local", [True, False])
def test_named_vectors(local: bool, qdrant: Connection) -> None:
    name = qdrant.name
    client = QdrantClient(":memory:") if local else qdrant.client
    params = {
        "long": models.VectorParams(size=3, distance=models.Distance.COSINE),
        "short": models.VectorParams(size=2, distance=models.Distance.EUCLID),
    }
    client.create_collection(name, vectors_config=params)
    points = [
        models.PointStruct(id=n, vector={"long": [1, n, 0], "short": [n, 0]}, payload={"text": f"{n}"})
        for n in range(3)
    ]
    client.upsert(name, points)
    retriever = QdrantRetriever(client, name, lambda question: [2, 0], vector_name="short", with_vectors=True)
    hits = retriever.retrieve("x", k=2)
    assert [(hit.chunk.text, hit.similarity_score) for hit in hits] == [("2", 0.0), ("1", -1.0)]
    assert np.asarray(hits[1].chunk.embedding).tolist() == [1.0, 0.0]
    with pytest.raises(StoreError, match="has the vectors 'long', 'short': vector_name is 'medium'"):
        QdrantRetriever(client, name, lambda question: [2, 0], vector_name="medium").retrieve("x")


@pytest.mark.parametrize("with_vectors", [True, False])
@pytest.mark.parametrize("make_id", [None, uuid5_id])
def test_vectors_come_where_they_are_asked_for(with_vectors: bool, make_id: MakeId | None, qdrant: Connection) -> None:
    client, name = qdrant.client, qdrant.name
    chunks = contract_chunks(1, 3)
    fill(client, chunks, name=name)
    store = QdrantChunkStore(client, name, make_id=make_id, with_vectors=with_vectors)
    for chunk in store.fetch([Window("doc-0", 0, 3)]):
        if with_vectors:
            expected = np.asarray(chunks[chunk.metadata.chunk_id].embedding)
            assert np.allclose(np.asarray(chunk.embedding), expected, atol=1e-6)
        else:
            assert chunk.embedding is None
