"""Neighbours out of Haystack's document stores."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from retrivex import Chunk, ChunkMetadata
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, odd_ids

pytest.importorskip("haystack", reason="needs haystack-ai")

from haystack import Document
from support.haystack_world import BEES, Blocking, Counted, cut, filled

from retrivex.adapters.base.fields import FieldMap, MakeId, colon_id, uuid5_id
from retrivex.adapters.haystack import DocumentStoreChunkStore

pytestmark = pytest.mark.integration


class _OverDocuments(ChunkStoreContract):
    make_id: MakeId | None = None
    most_in_a_request = 1000

    def _document(self, chunk: Chunk, n: int) -> Document:
        payload = FieldMap(doc_id="source_id", chunk_id="split_id", char_start="split_idx_start").payload(chunk)
        name = colon_id(*chunk.key) if self.make_id is None else self.make_id(*chunk.key)
        own = name if self.make_id is not None else f"{n} {name}"  # ids of nobody's choice
        vector = None if chunk.embedding is None else [float(x) for x in chunk.embedding]
        return Document(id=own, content=payload.pop("text"), meta=payload, embedding=vector)

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        documents = filled([self._document(chunk, n) for n, chunk in enumerate(chunks)])
        make_id = type(self).__dict__.get("make_id")
        store = DocumentStoreChunkStore(documents, None if make_id is None else make_id.__func__)
        return StoreUnderTest(store, lambda: documents.requests)

    def make_down(self) -> DocumentStoreChunkStore:
        return DocumentStoreChunkStore(Counted(error=ConnectionRefusedError("nobody listens")), retries=0)

    def make_hanging(self) -> DocumentStoreChunkStore:
        return DocumentStoreChunkStore(Counted(error=TimeoutError("too late")))


class TestByFilters(_OverDocuments):
    pass


class TestByIds(_OverDocuments):
    make_id = staticmethod(uuid5_id)
    holds_duplicates = False


def test_a_store_without_async_methods_is_asked_in_a_thread() -> None:
    store = DocumentStoreChunkStore(Blocking(filled(BEES)))  # type: ignore[arg-type]
    found = asyncio.run(store.afetch([Window("bees", 1, 3)]))
    assert sorted(chunk.text for chunk in found) == ["A hive has one queen.", "She lays all eggs."]


def test_a_scope_is_part_of_the_filter_where_all_are_named() -> None:
    documents = filled([*cut("plan", "Ours.", scope="us"), *cut("note", "Open.")])
    store = DocumentStoreChunkStore(documents)
    windows = [Window("plan", 0, 3), Window("note", 0, 3)]
    assert [chunk.text for chunk in store.fetch(windows, "us")] == ["Ours."]
    assert {"field": "meta.scope", "operator": "in", "value": ["us"]} in documents.filters["conditions"]
    assert [chunk.text for chunk in store.fetch(windows)] == ["Open."]
    assert "scope" not in json.dumps(documents.filters)
    assert len(store.fetch(windows, ["us", None])) == 2


def test_what_is_no_document_store_is_refused() -> None:
    with pytest.raises(StoreError, match=r"document_store is dict: .* with filter_documents"):
        DocumentStoreChunkStore({})  # type: ignore[arg-type]
    with pytest.raises(StoreTimeoutError, match="Counted did not answer in time"):
        DocumentStoreChunkStore(Counted(error=TimeoutError("late"))).fetch([Window("a", 0, 1)])


@pytest.mark.parametrize("by", ["ids", "filters"])
def test_a_real_document_store(by: str) -> None:
    qdrant = pytest.importorskip("haystack_integrations.document_stores.qdrant", exc_type=ImportError)
    documents = qdrant.QdrantDocumentStore(":memory:", embedding_dim=8, return_embedding=False)
    chunks = contract_chunks(3, 6) + contract_chunks(2, 6, scope="acme", prefix="acme")
    chunks += [
        Chunk(f"text {n}", ChunkMetadata(name, n), chunks[0].embedding) for name in odd_ids(nul=False) for n in range(2)
    ]
    names = FieldMap(doc_id="source_id", chunk_id="split_id")
    for chunk in chunks:
        payload = names.payload(chunk)
        vector = [float(x) for x in chunk.embedding]  # type: ignore[union-attr]
        own = uuid5_id(*chunk.key)
        documents.write_documents([Document(id=own, content=payload.pop("text"), meta=payload, embedding=vector)])
    store = DocumentStoreChunkStore(documents, uuid5_id if by == "ids" else None)
    windows = [Window("doc-0", 2, 5), Window("acme-1", 0, 2), Window("nowhere", 0, 9)]
    assert {chunk.key for chunk in store.fetch(windows)} == {("doc-0", 2), ("doc-0", 3), ("doc-0", 4)}
    assert {chunk.key for chunk in store.fetch(windows, "acme")} == {("acme-1", 0), ("acme-1", 1)}
    for name in odd_ids(nul=False):
        assert [chunk.key for chunk in store.fetch([Window(name, 1, 3)])] == [(name, 1)]
