"""Qdrant: filters, scopes and indexes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("qdrant_client")

from qdrant_client import QdrantClient, models
from support.qdrant_collections import Connection, fill

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.collection import ByIds, Nearest
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, QdrantRetriever, uuid5_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration

# ---- filters


def test_documents_that_are_kept_as_numbers_are_found(qdrant: Connection) -> None:
    client, name = qdrant.client, qdrant.name
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT))
    kept = [(1, 42, 0), (2, 42, 1), (3, "42", 2), (4, "042", 0), (5, 421, 0)]
    client.upsert(
        name,
        [
            models.PointStruct(id=id, vector=[1, 0], payload={"text": f"{id}", "doc_id": doc_id, "chunk_id": n})
            for id, doc_id, n in kept
        ],
    )
    store = QdrantChunkStore(client, name)
    assert sorted(chunk.text for chunk in store.fetch([Window("42", 0, 9)])) == ["1", "2", "3"]
    assert [chunk.text for chunk in store.fetch([Window("042", 0, 9)])] == ["4"]


def test_whole_numbers_that_no_double_holds_are_not_lost(qdrant: Connection) -> None:
    client, name, first = qdrant.client, qdrant.name, 1_700_000_000_000_000_001
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT))
    client.upsert(
        name,
        [
            models.PointStruct(
                id=n + 1, vector=[1, 0], payload={"text": "x", "doc_id": "d", "chunk_id": n, "ns": first + n}
            )
            for n in range(3)
        ],
    )
    retriever = QdrantRetriever(client, name, lambda question: [1.0, 0.0])
    for where, expected in (
        ({"metadata.ns": {"below": first + 2}}, [0, 1]),
        ({"metadata.ns": {"max": first + 1}}, [0, 1]),
        ({"not": {"metadata.ns": {"min": first + 1}}}, [0]),
    ):
        assert sorted(hit.key[1] for hit in retriever.retrieve("x", 9, where=where)) == expected


def test_field_names_that_are_no_plain_words(qdrant: Connection) -> None:
    client, name = qdrant.client, qdrant.name
    fields = FieldMap(doc_id="file name", chunk_id="größe", scope="tenant's", root="meta data")
    chunks = [*contract_chunks(2, 4), *contract_chunks(1, 4, "acme", "acme")]
    client.create_collection(name, vectors_config=models.VectorParams(size=8, distance=models.Distance.COSINE))
    client.upsert(
        name,
        [
            models.PointStruct(id=uuid5_id(*c.key), vector=np.asarray(c.embedding).tolist(), payload=fields.payload(c))
            for c in chunks
        ],
    )
    store = QdrantChunkStore(client, name, fields=fields)
    asked = [Window("doc-1", 1, 3), Window("acme-0", 0, 1)]
    assert sorted(chunk.key for chunk in store.fetch(asked)) == [("doc-1", 1), ("doc-1", 2)]
    assert [chunk.key for chunk in store.fetch(asked, "acme")] == [("acme-0", 0)]


def test_nobody_without_a_scope_sees_anything(qdrant: Connection) -> None:
    client, name = qdrant.client, qdrant.name
    fill(client, contract_chunks(1, 3), name=name)
    assert QdrantChunkStore(client, name).fetch([Window("doc-0", 0, 3)], []) == []
    assert QdrantRetriever(client, name, lambda question: np.ones(8)).retrieve("x", scope=[]) == []


def test_places_that_are_kept_too_often_are_an_error_and_no_gap(qdrant: Connection) -> None:
    client, name = qdrant.client, qdrant.name
    [chunk] = contract_chunks(1, 1)
    vector = np.asarray(chunk.embedding).tolist()
    client.create_collection(name, vectors_config=models.VectorParams(size=8, distance=models.Distance.COSINE))
    points = [models.PointStruct(id=n, vector=vector, payload=FieldMap().payload(chunk)) for n in range(9)]
    client.upsert(name, points)
    with pytest.raises(StoreError, match="keeps chunks of these windows more than 8 times"):
        QdrantChunkStore(client, name).fetch([Window("doc-0", 0, 1)])
    made = SpanComposer(RetrievalConfig(window=0)).compose([], QdrantChunkStore(client, name))
    assert made.spans == ()


@pytest.mark.parametrize("local", [True, False])
def test_only_the_scope_leaves_the_server(local: bool, qdrant: Connection) -> None:
    name = qdrant.name
    client = QdrantClient(":memory:") if local else qdrant.client
    fill(client, [*contract_chunks(1, 4), *contract_chunks(1, 4, "acme", "acme")], name=name)
    collection = QdrantCollection(client, name)
    ids = tuple(uuid5_id(doc_id, n) for doc_id in ("doc-0", "acme-0") for n in range(4))
    for scopes, seen in ((frozenset({"acme"}), {"acme-0"}), (frozenset({None}), {"doc-0"})):
        records = collection.ask(ByIds(ids, scopes)).records
        assert {record.payload["doc_id"] for record in records} == seen
        near = collection.ask(Nearest(np.ones(8, dtype=np.float32), 8, scopes)).records
        assert {record.payload["doc_id"] for record in near} == seen
        assert len(near) == 4


# ---- the index


def test_metadata_in_an_object_of_that_name_beside_flat_fields() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("nested", vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    payloads = [{"doc_id": "d", "chunk_id": n, "text": f"t{n}", "metadata": {"v": n}} for n in range(3)]
    points = [models.PointStruct(id=n, vector=[1, n], payload=payload) for n, payload in enumerate(payloads)]
    client.upsert("nested", points)
    retriever = QdrantRetriever(client, "nested", lambda question: [1.0, 1.0])
    assert [hit.key for hit in retriever.retrieve("x", 9, where={"metadata.v": 2})] == [("d", 2)]
    assert sorted(hit.key[1] for hit in retriever.retrieve("x", 9, where={"not": {"metadata.v": 2}})) == [0, 1]
