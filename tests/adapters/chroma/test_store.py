"""Chroma, against a real server on loopback and against the database in the client itself: the contract, clients."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.examples import run_example

from retrivex import Chunk
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import StoreUnderTest, contract_chunks

pytestmark = pytest.mark.integration

chromadb = pytest.importorskip("chromadb")

from support.async_cases import check_async_client  # noqa: E402
from support.chroma_server import FIELDS, ChromaServer, Gate, fill, quiet  # noqa: E402
from support.vector_contract import VectorContract  # noqa: E402

from retrivex.adapters.base.fields import colon_id, uuid5_id  # noqa: E402
from retrivex.adapters.chroma import ChromaChunkStore, ChromaRetriever  # noqa: E402


class _OverServer(VectorContract):
    has_words = False

    @pytest.fixture(autouse=True)
    def _with_server(self, chroma: ChromaServer) -> None:
        self.chroma = chroma

    def make_down(self) -> ChromaChunkStore:
        gate = Gate(self.chroma.port)
        client = self.chroma.connect(gate.port)
        store = ChromaChunkStore(client, self.chroma.fill(contract_chunks(1, 2)), make_id=colon_id, retries=0)
        gate.take_away()
        return store

    def make_hanging(self) -> ChromaChunkStore:
        gate = Gate(self.chroma.port)
        client = self.chroma.connect(gate.port)
        name = self.chroma.fill(contract_chunks(1, 2))
        store = ChromaChunkStore(client, name, make_id=colon_id, timeout_s=5.0)
        store.collection._timeout_s = 0.3  # type: ignore[attr-defined]  # enough time to open it, little to answer
        gate.shut()
        return store


class TestByIds(_OverServer):
    holds_duplicates = False  # ids are unique

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        name = self.chroma.fill(chunks)
        store = ChromaChunkStore(self.chroma.client, name, make_id=colon_id, timeout_s=60, **options)
        return StoreUnderTest(store, lambda: self.chroma.requests)


class TestByWindows(_OverServer):
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        store = ChromaChunkStore(self.chroma.client, self.chroma.fill(chunks, make_id=None), timeout_s=60, **options)
        return StoreUnderTest(store, lambda: self.chroma.requests)


class TestInTheClientItself(VectorContract):
    has_words = False
    holds_duplicates = False

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = chromadb.EphemeralClient(quiet())
        store = ChromaChunkStore(client, fill(client, chunks, uuid5_id), make_id=uuid5_id, timeout_s=60, **options)
        asked: list[Any] = []
        ask = store.collection.ask
        store.collection.ask = lambda request: (asked.append(request), ask(request))[1]  # type: ignore[method-assign]
        return StoreUnderTest(store, lambda: len(asked))


# ---- clients


def test_an_async_client_gives_what_a_sync_one_gives(chroma: ChromaServer) -> None:
    chunks = [*contract_chunks(), *contract_chunks(2, 4, "acme", "acme")]
    name = chroma.fill(chunks)
    windows = [Window(f"doc-{d}", 2, 7) for d in range(6)]
    expected = {c.key: c.text for c in ChromaChunkStore(chroma.client, name, make_id=colon_id).fetch(windows)}

    async def ask() -> None:
        client = await chromadb.AsyncHttpClient("127.0.0.1", chroma.port, settings=quiet())
        await check_async_client(lambda make_id: ChromaChunkStore(client, name, make_id=make_id), windows, expected)
        retriever = ChromaRetriever(client, name, lambda question: chunks[3].embedding)
        assert (await retriever.aretrieve("x", k=3))[0].key == chunks[3].key
        both = ChromaChunkStore(chroma.client, name, make_id=colon_id, async_client=client)
        before = chroma.requests
        assert {chunk.key: chunk.text for chunk in await both.afetch(windows)} == expected
        assert chroma.requests == before  # it went through the async client
        with pytest.raises(StoreError, match=r"refused the request .*nowhere"):
            await ChromaChunkStore(client, "nowhere").afetch(windows)
        assert len(both.fetch(windows)) == len(expected)  # ours are closed by nobody

    asyncio.run(ask())


def test_an_async_store_gives_up_in_time(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 3))

    async def ask() -> None:
        gate = Gate(chroma.port)
        client = await chromadb.AsyncHttpClient("127.0.0.1", gate.port, settings=quiet())
        store = ChromaChunkStore(client, name, make_id=colon_id, timeout_s=2.0)
        gate.shut()
        with pytest.raises(StoreTimeoutError, match="did not answer in time"):
            await store.afetch([Window("doc-0", 0, 3)])
        gate.take_away()
        with pytest.raises(StoreError, match="is down"):
            await store.afetch([Window("doc-0", 0, 3)])

    asyncio.run(ask())


def test_a_collection_that_is_made_anew_under_its_name_is_found_again(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 3))
    store = ChromaChunkStore(chroma.client, name, make_id=colon_id)
    assert len(store.fetch([Window("doc-0", 0, 9)])) == 3
    chroma.client.delete_collection(name)
    with pytest.raises(StoreError, match=r"refused the request .*NotFound"):
        store.fetch([Window("doc-0", 0, 9)])
    made = chroma.client.create_collection(name, embedding_function=None)
    made.add(ids=["doc-0:7"], documents=["anew"], embeddings=[[1.0, 0.0]])
    assert [chunk.text for chunk in store.fetch([Window("doc-0", 0, 9)])] == ["anew"]


def test_a_server_that_is_down_at_first_is_found_later(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 3))
    gate = Gate(chroma.port)
    client = chroma.connect(gate.port)
    gate.take_away()
    store = ChromaChunkStore(client, name, make_id=colon_id, retries=0)
    with pytest.raises(StoreError, match="is down"):
        store.fetch([Window("doc-0", 0, 3)])


@pytest.mark.parametrize(
    ("status", "expected", "asked"),
    [(503, "is down, asked 2 times", 2), (429, "is down, asked 2 times", 2), (403, "refused the request", 1)],
)
def test_answers_of_a_proxy_are_understood(chroma: ChromaServer, status: int, expected: str, asked: int) -> None:
    store = ChromaChunkStore(chroma.client, chroma.fill(contract_chunks(1, 3)), make_id=colon_id, retries=1)
    session = chroma.client._server._session
    seen: list[Any] = []

    def answer(response: Any) -> None:
        seen.append(response)
        response.status_code = status
        response._content = b"no"

    session.event_hooks["response"].append(answer)
    try:
        with pytest.raises(StoreError, match=expected):
            store.fetch([Window("doc-0", 0, 3)])
    finally:
        session.event_hooks["response"].remove(answer)
    assert len(seen) == asked


def test_a_database_in_a_folder(tmp_path: Path) -> None:
    client = chromadb.PersistentClient(str(tmp_path), settings=quiet())
    name = fill(client, contract_chunks(2, 5))
    found = ChromaChunkStore(client, name, make_id=colon_id).fetch([Window("doc-1", 1, 3)])
    assert sorted(chunk.key for chunk in found) == [("doc-1", 1), ("doc-1", 2)]


# ---- bad input


def test_what_is_wrong_is_said_when_the_store_is_made(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 2))
    wrong: list[tuple[str, Any, dict[str, Any]]] = [
        ("collection 'nowhere' cannot be read", "nowhere", {}),
        ("the collection is 5", 5, {}),
        ("timeout_s is 0", name, {"timeout_s": 0}),
        ("fields is 'mine'", name, {"fields": "mine"}),
        ("async_client is Client", name, {"async_client": chroma.client}),
        ("has no field for the document", name, {"fields": replace(FIELDS, doc_id=())}),
    ]
    for message, collection, options in wrong:
        with pytest.raises(StoreError, match=message):
            ChromaChunkStore(chroma.client, collection, **options)
    with pytest.raises(StoreError, match="client is str"):
        ChromaChunkStore("localhost", name)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="timeout"):
        ChromaChunkStore(chroma.client, name, timeout=3)  # type: ignore[call-arg]


def test_without_chromadb_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb.api", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.chroma")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[chroma\]'"):
        importlib.import_module("retrivex.adapters.chroma")


def test_the_example_prints_neighbours() -> None:
    printed = run_example("neighbours_in_chroma.py")
    assert "1 request" in printed
    assert "They shiver to keep warm." in printed
