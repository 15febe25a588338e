"""Chunk stores over what LangChain users have: get_by_ids, mget, and filters of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from retrivex import Chunk, ChunkMetadata, RetrievalConfig
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, odd_ids

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.stores import BaseStore, InMemoryBaseStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.langchain import (
    BaseStoreChunkStore,
    FilteredChunkStore,
    RetriVexRetriever,
    VectorStoreChunkStore,
    colon_id,
    uuid5_id,
)

pytestmark = pytest.mark.integration


def document_of(chunk: Chunk) -> Document:
    payload = FieldMap().payload(chunk)
    return Document(payload.pop("text"), metadata=payload, id=colon_id(*chunk.key))


class Vectors(InMemoryVectorStore):
    """Counts what would be requests, and fails where it is told to."""

    def __init__(self, documents: Sequence[Document] = (), error: Exception | None = None) -> None:
        super().__init__(DeterministicFakeEmbedding(size=4))
        self.requests = 0
        self.error = error
        self.store = {
            document.id: {
                "id": document.id, "text": document.page_content, "metadata": document.metadata,
                "vector": [1.0, 0.0, 0.0, 0.0],
            }
            for document in documents
        }  # fmt: skip

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.requests += 1
        if self.error is not None:
            time.sleep(0.15)  # as a client waits before it gives up
            raise self.error
        return super().get_by_ids(ids)

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return await asyncio.to_thread(self.get_by_ids, ids)


class Keys(InMemoryStore):
    requests = 0

    def mget(self, keys: Sequence[str]) -> list[Any]:
        self.requests += 1
        return super().mget(keys)

    async def amget(self, keys: Sequence[str]) -> list[Any]:
        return self.mget(keys)


class Broken(BaseStore[str, Any]):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def mget(self, keys: Sequence[str]) -> list[Any]:
        time.sleep(0.15)  # as a client waits before it gives up
        raise self.error

    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        raise NotImplementedError

    def mdelete(self, keys: Sequence[str]) -> None:
        raise NotImplementedError

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        raise NotImplementedError


class ReadTimeout(Exception):  # noqa: N818 - as httpx calls it
    pass


class _OfDocuments(ChunkStoreContract):
    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> None:
        """Return None: LangChain's Documents have no embedding."""


class TestByIds(_OfDocuments):
    holds_duplicates = False
    most_in_a_request = 1000

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        vectors = Vectors([document_of(chunk) for chunk in chunks])
        return StoreUnderTest(VectorStoreChunkStore(vectors), lambda: vectors.requests)

    def make_down(self) -> VectorStoreChunkStore:
        return VectorStoreChunkStore(Vectors(error=ConnectionRefusedError("nobody listens")), retries=0)

    def make_hanging(self) -> VectorStoreChunkStore:
        return VectorStoreChunkStore(Vectors(error=ReadTimeout("too late")))


class TestByKeys(_OfDocuments):
    holds_duplicates = False
    most_in_a_request = 1000

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        keys = Keys()
        keys.mset([(uuid5_id(*chunk.key), document_of(chunk)) for chunk in chunks])
        return StoreUnderTest(BaseStoreChunkStore(keys, uuid5_id), lambda: keys.requests)

    def make_down(self) -> BaseStoreChunkStore:
        return BaseStoreChunkStore(Broken(OSError("no route")), retries=0)

    def make_hanging(self) -> BaseStoreChunkStore:
        return BaseStoreChunkStore(Broken(TimeoutError("too late")))


class Searched:
    """A vector store that is asked by a filter on metadata: LangChain's own one takes a function for that."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.requests = 0
        documents = [document_of(chunk) for chunk in chunks]
        # ids of the store's own choice
        self.vectors = Vectors([d.model_copy(update={"id": str(n)}) for n, d in enumerate(documents)])

    def search(self, windows: Sequence[Window], scopes: frozenset[str | None]) -> list[Document]:
        self.requests += 1
        wanted = {(window.doc_id, n) for window in windows for n in range(window.start, window.end)}

        def inside(document: Document) -> bool:
            known = document.metadata
            return (known["doc_id"], known["chunk_id"]) in wanted and known.get("scope") in scopes

        return self.vectors.similarity_search("", k=10_000, filter=inside)

    async def asearch(self, windows: Sequence[Window], scopes: frozenset[str | None]) -> list[Document]:
        return self.search(windows, scopes)


class TestByFilter(_OfDocuments):
    most_in_a_request = 1000

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        searched = Searched(chunks)
        return StoreUnderTest(FilteredChunkStore(searched.search, searched.asearch), lambda: searched.requests)


class TestByFilterInThreads(TestByFilter):
    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        searched = Searched(chunks)
        return StoreUnderTest(FilteredChunkStore(searched.search), lambda: searched.requests)


@pytest.mark.parametrize("kind", ["ids", "keys", "filter"])
def test_hits_of_a_vector_store_grow_out_of_itself(kind: str) -> None:
    texts = ["Bees live in hives.", "A hive has one queen.", "She lays all eggs.", "Drones do not work."]
    pieces = [Document(text, metadata={"source": "bees", "chunk_index": n}) for n, text in enumerate(texts)]
    vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    vectors.add_documents(pieces, ids=[colon_id("bees", n) for n in range(4)])
    keys = InMemoryStore()
    keys.mset([(colon_id("bees", n), piece) for n, piece in enumerate(pieces)])
    store = {
        "ids": lambda: VectorStoreChunkStore(vectors),
        "keys": lambda: BaseStoreChunkStore(keys),
        "filter": lambda: FilteredChunkStore(lambda windows, scopes: pieces),
    }[kind]()
    base = vectors.as_retriever()
    config = RetrievalConfig(window=3, scoring="weighted")
    made = RetriVexRetriever(base, config, chunk_store=store, fetch_k=1).invoke("queen")
    assert [document.metadata["chunk_ids"] for document in made] == [[0, 1, 2, 3]]
    assert made[0].page_content == " ".join(texts)


@pytest.mark.parametrize("by", ["ids", "filter"])
def test_a_real_vector_store(by: str) -> None:
    qdrant = pytest.importorskip("langchain_qdrant", exc_type=ImportError)
    client = pytest.importorskip("qdrant_client")
    models = client.models
    engine = client.QdrantClient(":memory:")
    engine.create_collection("chunks", models.VectorParams(size=8, distance=models.Distance.COSINE))
    vectors = qdrant.QdrantVectorStore(engine, "chunks", DeterministicFakeEmbedding(size=8))
    chunks = contract_chunks(3, 6) + contract_chunks(2, 6, scope="acme", prefix="acme")
    chunks += [Chunk(f"text {n}", ChunkMetadata(name, n)) for name in odd_ids(nul=False) for n in range(2)]
    vectors.add_documents([document_of(chunk) for chunk in chunks], ids=[uuid5_id(*chunk.key) for chunk in chunks])

    def search(windows: Sequence[Window], scopes: frozenset[str | None]) -> list[Document]:
        def field(name: str, **wanted: Any) -> Any:
            return models.FieldCondition(key=f"metadata.{name}", **wanted)

        ranges = [
            models.Filter(
                must=[
                    field("doc_id", match=models.MatchValue(value=window.doc_id)),
                    field("chunk_id", range=models.Range(gte=window.start, lt=window.end)),
                ]
            )
            for window in windows
        ]
        return vectors.similarity_search("", k=1000, filter=models.Filter(should=ranges))

    store = VectorStoreChunkStore(vectors, uuid5_id) if by == "ids" else FilteredChunkStore(search)
    windows = [Window("doc-0", 2, 5), Window("acme-1", 0, 2), Window("nowhere", 0, 9)]
    assert {chunk.key for chunk in store.fetch(windows)} == {("doc-0", 2), ("doc-0", 3), ("doc-0", 4)}
    assert {chunk.key for chunk in store.fetch(windows, "acme")} == {("acme-1", 0), ("acme-1", 1)}
    for name in odd_ids(nul=False):
        assert [chunk.key for chunk in store.fetch([Window(name, 1, 3)])] == [(name, 1)]


def test_a_vector_store_without_get_by_ids_is_refused_at_once() -> None:
    class Old(InMemoryVectorStore):
        get_by_ids = VectorStore.get_by_ids
        aget_by_ids = VectorStore.aget_by_ids

    with pytest.raises(StoreError, match=r"vectorstore is Old: .* with get_by_ids; .*FilteredChunkStore"):
        VectorStoreChunkStore(Old(DeterministicFakeEmbedding(size=4)))
    with pytest.raises(StoreError, match="vectorstore is dict"):
        VectorStoreChunkStore({})  # type: ignore[arg-type]


def test_a_key_value_store_must_hold_documents() -> None:
    raw: InMemoryBaseStore[Any] = InMemoryBaseStore()
    raw.mset([("bees:0", b"Bees sleep.")])
    with pytest.raises(StoreError, match=r"holds bytes: it must hold Documents; .*create_kv_docstore"):
        BaseStoreChunkStore(raw).fetch([Window("bees", 0, 2)])
    with pytest.raises(StoreError, match="store is dict"):
        BaseStoreChunkStore({})  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="search is dict"):
        FilteredChunkStore({})  # type: ignore[arg-type]


def test_a_document_under_another_ones_key_is_left_out() -> None:
    keys = InMemoryStore()
    keys.mset([("bees:0", Document("Wasps sting.", metadata={"source": "wasps", "chunk_id": 4}))])
    store = BaseStoreChunkStore(keys)
    assert store.fetch([Window("bees", 0, 2)]) == []
    assert "records left out" in store.warnings[0]


def test_documents_that_come_without_their_ids_are_placed_by_their_metadata() -> None:
    class Nameless(Vectors):
        def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
            return [document.model_copy(update={"id": None}) for document in super().get_by_ids(ids)]

    chunks = contract_chunks(1, 5)
    store = VectorStoreChunkStore(Nameless([document_of(chunk) for chunk in chunks]))
    assert sorted(chunk.key for chunk in store.fetch([Window("doc-0", 1, 4)])) == [("doc-0", n) for n in (1, 2, 3)]


def test_what_is_named_after_its_failure_is_told_apart() -> None:
    class ServiceUnavailable(Exception):  # noqa: N818 - as clients call it
        pass

    down = VectorStoreChunkStore(Vectors(error=ServiceUnavailable("later")), retries=1)
    with pytest.raises(StoreError, match="Vectors is down, asked 2 times"):
        down.fetch([Window("doc", 0, 1)])
    with pytest.raises(StoreTimeoutError, match="did not answer in time"):
        VectorStoreChunkStore(Vectors(error=ReadTimeout("late"))).fetch([Window("doc", 0, 1)])
    with pytest.raises(StoreError, match="refused the request"):
        VectorStoreChunkStore(Vectors(error=KeyError("schema"))).fetch([Window("doc", 0, 1)])


def test_one_request_for_all_hits_however_many() -> None:
    chunks = contract_chunks(documents=20, chunks=10)
    vectors = Vectors([document_of(chunk) for chunk in chunks])
    hits = [document_of(chunk) for chunk in chunks[5::10]]
    retriever = RetriVexRetriever(
        RunnableLambda(lambda question: hits),
        RetrievalConfig(token_budget=9000, effort="full"),
        chunk_store=VectorStoreChunkStore(vectors),
    )
    made = retriever.invoke("sentence")
    assert vectors.requests == 1
    assert len(made) == 20
