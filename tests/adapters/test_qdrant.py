"""Qdrant: its local mode, and its engine behind a server that takes the documented requests.

With RETRIVEX_QDRANT_URL set, the contract runs on that server instead.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("qdrant_client")

import grpc
from qdrant_client import AsyncQdrantClient, QdrantClient, models
from qdrant_server import QdrantServer
from test_examples import run_example

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.adapters.collection import ByIds, Nearest, Scan
from retrivex.adapters.fields import FieldMap, MakeId
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, QdrantRetriever, colon_id, uuid5_id
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, odd_ids

pytestmark = pytest.mark.integration

NAME = "manuals"
REAL = os.environ.get("RETRIVEX_QDRANT_URL")
_METHODS = ("scroll", "retrieve", "query_points", "get_collection")


def fill(
    client: QdrantClient, chunks: Sequence[Chunk], *, name: str = NAME, metric: models.Distance = models.Distance.COSINE
) -> None:
    """Make a collection of chunks as RetriVex names their fields; copies of a place get ids of their own."""
    client.create_collection(name, vectors_config=models.VectorParams(size=8, distance=metric))
    seen: set[str] = set()
    points = []
    for chunk in chunks:
        id = uuid5_id(*chunk.key)
        id = uuid5_id(id, 1) if id in seen else id
        seen.add(id)
        vector = np.asarray(chunk.embedding).tolist()
        points.append(models.PointStruct(id=id, vector=vector, payload=FieldMap().payload(chunk)))
    if points:
        client.upsert(name, points)


@pytest.fixture(scope="module")
def running() -> Iterator[QdrantServer]:
    server = QdrantServer()
    yield server
    server.close()


@pytest.fixture
def server(running: QdrantServer) -> Iterator[QdrantServer]:
    running.hangs_s, running.status, running.is_strict = 0.0, None, False
    yield running
    running.hangs_s, running.status, running.is_strict = 0.0, None, False


@pytest.fixture
def client(server: QdrantServer) -> Iterator[QdrantClient]:
    client = QdrantClient(url=server.url, check_compatibility=False)
    yield client
    client.close()


@pytest.fixture
def name(server: QdrantServer) -> str:
    return f"collection {len(server.requests)}"  # never used before, and not a plain word


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# ---- the contract


class _Local(ChunkStoreContract):
    """Local mode, in memory; requests are counted in the client."""

    make_id: MakeId | None = None

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = QdrantClient(":memory:")
        fill(client, chunks)
        asked: list[str] = []
        for method in _METHODS:
            mock.patch.object(client, method, _noted(getattr(client, method), asked)).start()
        store = QdrantChunkStore(client, NAME, make_id=type(self).make_id, **options)
        return StoreUnderTest(store, lambda: len(asked), client.close)


def _noted(call: Any, asked: list[str]) -> Any:
    def noted(*args: Any, **kwargs: Any) -> Any:
        asked.append(call.__name__)
        return call(*args, **kwargs)

    return noted


class TestLocalByWindows(_Local):
    make_id = None


class TestLocalByIds(_Local):
    make_id = staticmethod(uuid5_id)


class _Served(ChunkStoreContract):
    """The engine behind a server; requests are counted where they arrive, and the async client is used for `afetch`."""

    make_id: MakeId | None = None

    @pytest.fixture(autouse=True)
    def _use(self, server: QdrantServer) -> None:
        self.server, self.name, self.url = server, f"contract {uuid.uuid4()}", REAL or server.url

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = QdrantClient(url=self.url, check_compatibility=False)
        fill(client, chunks, name=self.name)
        client.create_payload_index(self.name, "doc_id", field_schema="keyword")
        client.create_payload_index(self.name, "chunk_id", field_schema="integer")
        store = self._store(client, **options)
        assert store.warnings == ()
        sent: list[str] = []
        if REAL is None:
            return StoreUnderTest(store, lambda: len(self.server.requests), client.close)
        client.http.client.add_middleware(lambda request, send: (sent.append(str(request.url)), send(request))[1])

        def close() -> None:
            client.delete_collection(self.name)
            client.close()

        return StoreUnderTest(store, lambda: len(sent), close)

    def make_down(self) -> QdrantChunkStore:
        url = f"http://127.0.0.1:{closed_port()}"
        return self._store(QdrantClient(url=url, check_compatibility=False), retries=0)

    def make_hanging(self) -> QdrantChunkStore:
        store = self._store(QdrantClient(url=self.server.url, check_compatibility=False), timeout_s=0.2)
        self.server.hangs_s = 1.3
        return store

    def _store(self, client: QdrantClient, **options: Any) -> QdrantChunkStore:
        other = AsyncQdrantClient(url=self.url, check_compatibility=False)
        return QdrantChunkStore(client, self.name, async_client=other, make_id=type(self).make_id, **options)


class TestServedByWindows(_Served):
    make_id = None


class TestServedByIds(_Served):
    make_id = staticmethod(uuid5_id)


# ---- ids


def test_ids_that_qdrant_cannot_have_are_refused_with_the_way_out() -> None:
    client = QdrantClient(":memory:")
    fill(client, contract_chunks(1, 3))
    with pytest.raises(StoreError, match=r"id 'doc-0:0' is neither a UUID nor a whole number.*make_id=uuid5_id"):
        QdrantChunkStore(client, NAME, make_id=colon_id).fetch([Window("doc-0", 0, 2)])


@pytest.mark.parametrize(
    ("make_id", "local"),
    [
        (lambda doc_id, n: str(1000 + n), True),
        (lambda doc_id, n: str(1000 + n), False),
        (lambda doc_id, n: uuid5_id(doc_id, n).upper(), False),  # local mode may keep them as they were given
        (lambda doc_id, n: uuid5_id(doc_id, n).replace("-", ""), False),
    ],
    ids=["numbers, local", "numbers", "upper case", "no hyphens"],
)
def test_numbers_and_uuids_however_they_are_written(
    make_id: MakeId, local: bool, client: QdrantClient, name: str
) -> None:
    client = QdrantClient(":memory:") if local else client
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT))
    texts = {n: {"text": f"text {n}"} for n in range(4)}  # places are known from the ids alone
    id_of = {n: int(made) if (made := make_id("d", n)).isdigit() else made for n in texts}
    client.upsert(name, [models.PointStruct(id=id_of[n], vector=[1, 0], payload=p) for n, p in texts.items()])
    found = QdrantChunkStore(client, name, make_id=make_id).fetch([Window("d", 1, 9)])
    assert sorted((chunk.key, chunk.text) for chunk in found) == [(("d", n), f"text {n}") for n in (1, 2, 3)]


# ---- filters


def test_documents_that_are_kept_as_numbers_are_found(client: QdrantClient, name: str) -> None:
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


def test_field_names_that_are_no_plain_words(client: QdrantClient, name: str) -> None:
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
    assert '\'meta data."file name"' not in store.warnings[0]
    assert '\'"meta data"."file name"\'' in store.warnings[0]


def test_strict_mode_is_not_asked_in_other_ways_without_a_word(
    server: QdrantServer, client: QdrantClient, name: str
) -> None:
    fill(client, contract_chunks(1, 3), name=name)
    client.create_payload_index(name, "doc_id", field_schema="keyword")
    client.create_payload_index(name, "chunk_id", field_schema="integer")
    other = AsyncQdrantClient(url=server.url, check_compatibility=False)
    store = QdrantChunkStore(client, name, async_client=other)
    server.is_strict = True
    for found in (store.fetch([Window("nowhere", 0, 3)]), asyncio.run(store.afetch([Window("nowhere", 0, 3)]))):
        assert found == []
    [warning] = store.warnings
    assert "nothing found; chunk numbers as texts were not looked for" in warning
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    with pytest.raises(StoreError, match="Index required"):
        QdrantChunkStore(client, name, fields=FieldMap(chunk_id="page")).fetch(
            [Window("doc-0", 0, 3), Window("7", 0, 1)]
        )


def test_nobody_without_a_scope_sees_anything(client: QdrantClient, name: str) -> None:
    fill(client, contract_chunks(1, 3), name=name)
    assert QdrantChunkStore(client, name).fetch([Window("doc-0", 0, 3)], []) == []
    assert QdrantRetriever(client, name, lambda question: np.ones(8)).retrieve("x", scope=[]) == []


def test_places_that_are_kept_too_often_are_an_error_and_no_gap(client: QdrantClient, name: str) -> None:
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
def test_only_the_scope_leaves_the_server(local: bool, client: QdrantClient, name: str) -> None:
    client = QdrantClient(":memory:") if local else client
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


async def _async_warnings(url: str, name: str) -> tuple[str, ...]:
    client = AsyncQdrantClient(url=url, check_compatibility=False)
    store = QdrantChunkStore(client, name)
    await store.afetch([Window("doc-0", 0, 3)])
    await client.close()
    return store.warnings


def test_a_missing_index_is_told_of_with_the_command_that_makes_it(
    client: QdrantClient, server: QdrantServer, name: str
) -> None:
    fill(client, contract_chunks(1, 3), name=name)
    [warning] = QdrantChunkStore(client, name).warnings
    made = f"client.create_payload_index({name!r}, 'doc_id', field_schema='keyword')"
    assert made in warning
    assert asyncio.run(_async_warnings(server.url, name)) == (warning,)
    exec(made, {"client": client})
    [warning] = QdrantChunkStore(client, name).warnings
    assert "'doc_id'" not in warning
    exec(warning[warning.index("client.") :], {"client": client})
    assert QdrantChunkStore(client, name).warnings == ()
    assert QdrantChunkStore(client, name, make_id=uuid5_id).warnings == ()


def test_the_index_that_llamaindex_makes_is_used(client: QdrantClient, name: str) -> None:
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    client.create_payload_index(name, "doc_id", field_schema="keyword")
    [warning] = QdrantChunkStore(client, name, fields="llamaindex").warnings
    assert warning.endswith(f": client.create_payload_index({name!r}, 'chunk_id', field_schema='integer')")


def test_local_mode_has_no_indexes_and_no_warning() -> None:
    client = QdrantClient(":memory:")
    fill(client, contract_chunks(1, 3))
    assert QdrantChunkStore(client, NAME).warnings == ()


# ---- hits


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
    metric: models.Distance, scores: list[float], local: bool, client: QdrantClient, name: str
) -> None:
    client = QdrantClient(":memory:") if local else client
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


def test_a_question_costs_one_request_and_the_first_one_the_metric(
    server: QdrantServer, client: QdrantClient, name: str
) -> None:
    fill(client, contract_chunks(), name=name)
    retriever = QdrantRetriever(client, name, lambda question: np.ones(8))
    before = len(server.requests)
    first = retriever.retrieve("x", k=5)
    assert [method for method, _ in server.requests[before:]] == ["GET", "POST"]
    assert retriever.retrieve("x", k=5) == first
    assert len(server.requests) == before + 3
    assert asyncio.run(retriever.aretrieve("x", k=5)) == first


@pytest.mark.parametrize("local", [True, False])
def test_named_vectors(local: bool, client: QdrantClient, name: str) -> None:
    client = QdrantClient(":memory:") if local else client
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
def test_vectors_come_where_they_are_asked_for(
    with_vectors: bool, make_id: MakeId | None, client: QdrantClient, name: str
) -> None:
    chunks = contract_chunks(1, 3)
    fill(client, chunks, name=name)
    store = QdrantChunkStore(client, name, make_id=make_id, with_vectors=with_vectors)
    for chunk in store.fetch([Window("doc-0", 0, 3)]):
        if with_vectors:
            expected = np.asarray(chunks[chunk.metadata.chunk_id].embedding)
            assert np.allclose(np.asarray(chunk.embedding), expected, atol=1e-6)
        else:
            assert chunk.embedding is None


# ---- layouts: payloads as the packages write them, versions as in retrivex.adapters.qdrant


def _llamaindex(n: int) -> dict[str, Any]:
    content = {
        "id_": uuid5_id("node", n),
        "embedding": None,
        "metadata": {"file_path": "bees.md", "chunk_id": n},
        "excluded_embed_metadata_keys": [],
        "excluded_llm_metadata_keys": [],
        "relationships": {
            "1": {"node_id": "bees", "node_type": None, "metadata": {}, "hash": None, "class_name": "RelatedNodeInfo"}
        },
        "text": f"Sentence {n}.",
        "mimetype": "text/plain",
        "start_char_idx": 12 * n,
        "end_char_idx": 12 * n + 11,
        "class_name": "TextNode",
    }
    own = {"_node_content": json.dumps(content), "_node_type": "TextNode"}
    return {"file_path": "bees.md", "chunk_id": n, **own, "document_id": "bees", "doc_id": "bees", "ref_doc_id": "bees"}


def _haystack(n: int) -> dict[str, Any]:
    meta = {"file": "bees.md", "source_id": "bees", "page_number": 2, "split_id": n, "split_idx_start": 12 * n}
    return {"id": f"d21a{n}", "content": f"Sentence {n}.", "blob": None, "meta": meta, "score": None}


def _langchain(n: int) -> dict[str, Any]:
    metadata = {"source": "bees", "start_index": 12 * n, "chunk_id": n}
    return {"page_content": f"Sentence {n}.", "metadata": metadata}


WRITTEN: dict[Any, Any] = {"langchain": _langchain, "llamaindex": _llamaindex, "haystack": _haystack}


@pytest.mark.parametrize("layout", list(WRITTEN))
@pytest.mark.parametrize("local", [True, False])
def test_what_frameworks_write_is_read(layout: Any, local: bool, client: QdrantClient, name: str) -> None:
    client = QdrantClient(":memory:") if local else client
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    client.upsert(
        name,
        [models.PointStruct(id=uuid5_id("x", n), vector=[1.0, float(n)], payload=WRITTEN[layout](n)) for n in range(5)],
    )
    store = QdrantChunkStore(client, name, fields=layout)
    found = sorted(store.fetch([Window("bees", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text) for c in found] == [(("bees", 1), "Sentence 1."), (("bees", 2), "Sentence 2.")]
    assert [(c.metadata.char_start, c.metadata.char_end) for c in found] == [(12, 23), (24, 35)]
    assert store.warnings == () or "create_payload_index" in store.warnings[0]
    hits = QdrantRetriever(client, name, lambda question: [1.0, 9.0], fields=layout).retrieve("x", k=1)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits, store)
    assert [span.chunk_ids for span in made.spans] == [[3, 4]]


# ---- what can go wrong on the way


@pytest.mark.parametrize(("status", "shown"), [(503, "is down, asked 2 times"), (429, "is down"), (403, "refused")])
def test_answers_that_are_none(status: int, shown: str, server: QdrantServer, client: QdrantClient, name: str) -> None:
    fill(client, contract_chunks(1, 3), name=name)
    store = QdrantChunkStore(client, name, make_id=uuid5_id, retries=1)
    server.status = status
    before = len(server.requests)
    with pytest.raises(StoreError, match=shown):
        store.fetch([Window("doc-0", 0, 2)])
    assert len(server.requests) - before == (1 if status == 403 else 2)


def test_a_server_that_took_too_long_itself(server: QdrantServer, client: QdrantClient, name: str) -> None:
    fill(client, contract_chunks(1, 3), name=name)
    server.status = 408
    with pytest.raises(StoreTimeoutError):
        QdrantChunkStore(client, name, make_id=uuid5_id).fetch([Window("doc-0", 0, 2)])


def test_a_collection_that_is_not_there_is_one_clear_error(client: QdrantClient, name: str) -> None:
    store = QdrantChunkStore(client, name)
    assert store.warnings == ()
    with pytest.raises(StoreError, match=f"Qdrant collection '{name}' refused"):
        store.fetch([Window("d", 0, 2)])
    local = QdrantChunkStore(QdrantClient(":memory:"), name)
    with pytest.raises(StoreError, match=r"refused the request .*not found"):
        local.fetch([Window("d", 0, 2)])


def test_grpc_errors_mean_what_they_say() -> None:
    class Failed(grpc.RpcError):  # type: ignore[misc]
        def __init__(self, code: grpc.StatusCode) -> None:
            self._code = code

        def code(self) -> grpc.StatusCode:
            return self._code

    collection = QdrantCollection(QdrantClient(":memory:"), NAME)
    codes = grpc.StatusCode
    asked = [codes.DEADLINE_EXCEEDED, codes.UNAVAILABLE, codes.RESOURCE_EXHAUSTED, codes.PERMISSION_DENIED]
    assert [collection.failure(Failed(code)) for code in asked] == ["timeout", "down", "down", "refused"]
    assert collection.failure(ValueError("collection not found")) == "refused"


def test_a_server_over_grpc_that_is_down() -> None:
    client = QdrantClient(
        url="http://127.0.0.1", grpc_port=closed_port(), port=closed_port(), prefer_grpc=True, check_compatibility=False
    )
    with pytest.raises(StoreError, match="is down, asked 1 times"):
        QdrantChunkStore(client, NAME, make_id=uuid5_id, retries=0, timeout_s=5).fetch([Window("d", 0, 2)])
    client.close()


@pytest.mark.parametrize("bad", [0, -1.0, float("nan")])
def test_a_timeout_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(StoreError, match="timeout_s is"):
        QdrantChunkStore(QdrantClient(":memory:"), NAME, timeout_s=bad)


def test_a_client_that_is_none_is_refused() -> None:
    with pytest.raises(StoreError, match="client is str: give a QdrantClient"):
        QdrantChunkStore("http://localhost:6333", NAME)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="async_client is QdrantClient: give an AsyncQdrantClient"):
        QdrantChunkStore(QdrantClient(":memory:"), NAME, async_client=QdrantClient(":memory:"))  # type: ignore[arg-type]


# ---- async


def test_an_async_client_alone(client: QdrantClient, server: QdrantServer, name: str) -> None:
    chunks = contract_chunks()
    fill(client, chunks, name=name)
    other = AsyncQdrantClient(url=server.url, check_compatibility=False)
    store = QdrantChunkStore(other, name)
    retriever = QdrantRetriever(other, name, lambda question: chunks[7].embedding)

    async def ask() -> tuple[list[Any], list[Any]]:
        found = await store.afetch([Window("doc-1", 2, 5)])
        return sorted(chunk.key for chunk in found), [hit.key for hit in await retriever.aretrieve("x", k=1)]

    assert asyncio.run(ask()) == ([("doc-1", n) for n in (2, 3, 4)], [chunks[7].key])
    with pytest.raises(StoreError, match="has only an async client"):
        store.fetch([Window("doc-1", 2, 5)])


def test_an_async_client_in_local_mode() -> None:
    chunks = contract_chunks(1, 4)

    async def ask() -> tuple[list[Any], list[Any]]:
        client = AsyncQdrantClient(":memory:")
        await client.create_collection(
            NAME, vectors_config=models.VectorParams(size=8, distance=models.Distance.COSINE)
        )
        points = [
            models.PointStruct(
                id=uuid5_id(*c.key), vector=np.asarray(c.embedding).tolist(), payload=FieldMap().payload(c)
            )
            for c in chunks
        ]
        await client.upsert(NAME, points)
        by_ids = await QdrantChunkStore(client, NAME, make_id=uuid5_id).afetch([Window("doc-0", 1, 3)])
        by_windows = await QdrantChunkStore(client, NAME).afetch([Window("doc-0", 1, 3)])
        return by_ids, by_windows

    by_ids, by_windows = asyncio.run(ask())
    assert sorted(c.key for c in by_ids) == sorted(c.key for c in by_windows) == [("doc-0", 1), ("doc-0", 2)]


# ---- backfill


@pytest.mark.parametrize("local", [True, False])
def test_a_scan_sees_every_record_once_and_fields_can_be_written(local: bool, client: QdrantClient, name: str) -> None:
    client = QdrantClient(":memory:") if local else client
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    ids: list[Any] = [*range(5), *(uuid5_id("d", n) for n in range(5))]
    payloads = [{"page_content": f"{id}", "metadata": {"source": "d", "author": "Ann"}} for id in ids[:-1]]
    points = [models.PointStruct(id=id, vector=[1, 0], payload=p) for id, p in zip(ids, [*payloads, {}], strict=True)]
    client.upsert(name, points)
    collection = QdrantCollection(client, name, fields="langchain")
    pages = [collection.ask(Scan(None, 4))]
    while pages[-1].after is not None:
        pages.append(collection.ask(Scan(json.loads(json.dumps(pages[-1].after)), 4)))
    seen = [record.id for page in pages for record in page.records]
    assert len(pages) == 3
    assert sorted(seen) == sorted(map(str, ids))
    collection.write({id: {"metadata.chunk_id": n, "metadata.odd name": n, "top": n} for n, id in enumerate(seen)})
    written = {record.id: record.payload for record in collection.ask(Scan(None, 99)).records}
    for n, id in enumerate(seen):
        assert (written[id]["metadata"]["chunk_id"], written[id]["metadata"]["odd name"], written[id]["top"]) == (
            n,
        ) * 3
        assert written[id]["metadata"].get("author") == ("Ann" if "page_content" in written[id] else None)
    assert len(QdrantChunkStore(client, name, fields="langchain").fetch([Window("d", 0, 99)])) == 9


def test_a_collection_on_disk(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path))
    names = odd_ids(nul=True)
    chunks = [
        Chunk(f"text {n}", ChunkMetadata(name, 0), contract_chunks(1, 1)[0].embedding) for n, name in enumerate(names)
    ]
    fill(client, chunks)
    client.close()
    client = QdrantClient(path=str(tmp_path))
    for make_id in (None, uuid5_id):
        found = QdrantChunkStore(client, NAME, make_id=make_id).fetch([Window(name, 0, 1) for name in names])
        assert {chunk.key[0]: chunk.text for chunk in found} == {name: f"text {n}" for n, name in enumerate(names)}
    client.close()


# ---- the example


def test_the_example_finds_a_hit_and_its_neighbours() -> None:
    printed = run_example("neighbours_in_qdrant.py")
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
