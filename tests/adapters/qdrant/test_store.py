"""Qdrant: its local mode, and its engine behind a server that takes the documented requests: the contract, clients.

With RETRIVEX_QDRANT_URL set, the contract runs on that server instead.
"""

from __future__ import annotations

import asyncio
import os
import re
import uuid
import zlib
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("qdrant_client")

import grpc
from qdrant_client import AsyncQdrantClient, QdrantClient, models
from support.examples import run_example
from support.qdrant_collections import NAME, Connection, closed_port, fill
from support.vector_contract import VectorContract

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap, MakeId
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, QdrantRetriever, colon_id, uuid5_id
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import StoreUnderTest, contract_chunks

pytestmark = pytest.mark.integration

REAL = os.environ.get("RETRIVEX_QDRANT_URL")
_METHODS = ("scroll", "retrieve", "query_points", "get_collection")


# ---- the contract


class _Local(VectorContract):
    """Local mode, in memory; requests are counted in the client."""

    make_id: MakeId | None = None

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = QdrantClient(":memory:")
        fill(client, chunks)
        asked: list[str] = []
        for method in _METHODS:
            mock.patch.object(client, method, _noted(getattr(client, method), asked)).start()
        store = QdrantChunkStore(client, NAME, make_id=type(self).make_id, **options)
        return StoreUnderTest(store, lambda: len(asked), client.close)

    def make_for_words(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        client = QdrantClient(":memory:")
        client.create_collection(
            NAME,
            vectors_config=models.VectorParams(size=8, distance=models.Distance.COSINE),
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        points = [
            models.PointStruct(
                id=uuid5_id(*chunk.key),
                vector={"": np.asarray(chunk.embedding).tolist(), "words": _sparse(_count_words(chunk.text))},
                payload=FieldMap().payload(chunk),
            )
            for chunk in chunks
        ]
        client.upsert(NAME, points)
        store = QdrantChunkStore(client, NAME, words_name="words", embed_words=_count_words)
        return StoreUnderTest(store, lambda: 0, client.close)


def _count_words(text: str) -> dict[int, float]:
    """Weigh a word by how often it is there; its index is made of its letters."""
    words = re.findall(r"\w+", text.lower())
    return {zlib.crc32(word.encode()): float(words.count(word)) for word in words}


def _sparse(weights: dict[int, float]) -> models.SparseVector:
    return models.SparseVector(indices=list(weights), values=list(weights.values()))


def _noted(call: Any, asked: list[str]) -> Any:
    def noted(*args: Any, **kwargs: Any) -> Any:
        asked.append(call.__name__)
        return call(*args, **kwargs)

    return noted


class TestLocalByWindows(_Local):
    make_id = None


class TestLocalByIds(_Local):
    make_id = staticmethod(uuid5_id)


class _Served(VectorContract):
    """The engine behind a server; requests are counted where they arrive, and the async client is used for `afetch`."""

    make_for_words = _Local.make_for_words  # the engine's Python package takes no fusion

    make_id: MakeId | None = None

    @pytest.fixture(autouse=True)
    def _use(self, qdrant: Connection) -> None:
        self.server, self.name = qdrant.server, f"contract {uuid.uuid4()}"
        self.url = REAL or qdrant.server.url

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
def test_numbers_and_uuids_however_they_are_written(make_id: MakeId, local: bool, qdrant: Connection) -> None:
    name = qdrant.name
    client = QdrantClient(":memory:") if local else qdrant.client
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.DOT))
    texts = {n: {"text": f"text {n}"} for n in range(4)}  # places are known from the ids alone
    id_of = {n: int(made) if (made := make_id("d", n)).isdigit() else made for n in texts}
    client.upsert(name, [models.PointStruct(id=id_of[n], vector=[1, 0], payload=p) for n, p in texts.items()])
    found = QdrantChunkStore(client, name, make_id=make_id).fetch([Window("d", 1, 9)])
    assert sorted((chunk.key, chunk.text) for chunk in found) == [(("d", n), f"text {n}") for n in (1, 2, 3)]


# ---- what can go wrong on the way


@pytest.mark.parametrize(("status", "shown"), [(503, "is down, asked 2 times"), (429, "is down"), (403, "refused")])
def test_answers_that_are_none(status: int, shown: str, qdrant: Connection) -> None:
    client, server, name = qdrant.client, qdrant.server, qdrant.name
    fill(client, contract_chunks(1, 3), name=name)
    store = QdrantChunkStore(client, name, make_id=uuid5_id, retries=1)
    server.status = status
    before = len(server.requests)
    with pytest.raises(StoreError, match=shown):
        store.fetch([Window("doc-0", 0, 2)])
    assert len(server.requests) - before == (1 if status == 403 else 2)


def test_a_server_that_took_too_long_itself(qdrant: Connection) -> None:
    client, server, name = qdrant.client, qdrant.server, qdrant.name
    fill(client, contract_chunks(1, 3), name=name)
    server.status = 408
    with pytest.raises(StoreTimeoutError):
        QdrantChunkStore(client, name, make_id=uuid5_id).fetch([Window("doc-0", 0, 2)])


def test_a_collection_that_is_not_there_is_one_clear_error(qdrant: Connection) -> None:
    client, name = qdrant.client, qdrant.name
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


def test_an_async_client_alone(qdrant: Connection) -> None:
    client, server, name = qdrant.client, qdrant.server, qdrant.name
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


# ---- the example


def test_the_example_finds_a_hit_and_its_neighbours() -> None:
    printed = run_example("neighbours_in_qdrant.py")
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
