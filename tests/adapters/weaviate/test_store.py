"""Weaviate: the contract through the real client, to a stand-in for the server or to a real one.

RETRIVEX_WEAVIATE_URL (http://127.0.0.1:8080) and RETRIVEX_WEAVIATE_GRPC_PORT (50051) name a real server; what needs the
stand-in itself is skipped then.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("weaviate")

import weaviate
from grpc import StatusCode
from httpx import Response
from support.examples import run_example
from support.vector_contract import CountsContract, WhereContract, WordsContract
from support.weaviate_collections import EXACT, MADE_FOR_IT, REAL, Server, needs_double, ports
from support.weaviate_server import weaviate_server
from weaviate.classes.config import DataType, Property
from weaviate.exceptions import (
    UnexpectedStatusCodeError,
    WeaviateClosedClientError,
    WeaviateConnectionError,
    WeaviateTimeoutError,
)

from retrivex import Chunk
from retrivex.adapters.base.collection import Scan
from retrivex.adapters.base.fields import FieldMap, MakeId, colon_id, uuid5_id
from retrivex.adapters.weaviate import WeaviateChunkStore, WeaviateCollection, WeaviateRetriever
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import StoreUnderTest, contract_chunks, odd_ids

pytestmark = pytest.mark.integration


class _OverWeaviate(CountsContract, WhereContract, WordsContract):
    make_id: Callable[..., MakeId | None]
    most_in_a_request = WeaviateCollection.batch_limit
    properties: Sequence[Property] | None = None
    null_state = True
    holds_wide_numbers = False  # the client sends whole numbers as doubles

    @pytest.fixture(autouse=True)
    def _serve(self, server: Server) -> None:
        self.server = server

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        server, make_id = self.server, self.make_id()
        name = server.fill(chunks, self.properties, make_id=make_id, null_state=self.null_state)
        store = WeaviateChunkStore(server.client, name, make_id=make_id, timeout_s=60, **options)
        sent = _Counted(store) if REAL else None
        requests = sent if sent is not None else lambda: len(server.double.searches)
        return StoreUnderTest(store, requests, lambda: server.client.collections.delete(name))

    def make_down(self) -> WeaviateChunkStore:
        with weaviate_server() as (double, http, grpc):
            client = weaviate.connect_to_custom(**ports(http, grpc))
            name = Server(client, lambda: None, double).fill(contract_chunks(1, 3))
            store = WeaviateChunkStore(client, name, make_id=self.make_id(), timeout_s=0.3)
        client.close()
        return store

    def make_hanging(self) -> WeaviateChunkStore:
        if REAL:
            pytest.skip("the server is a real one")
        name = self.server.fill(contract_chunks(1, 3), name="Slow")
        return WeaviateChunkStore(self.server.client, name, make_id=self.make_id(), timeout_s=0.3)


class TestByWindows(_OverWeaviate):
    make_id = staticmethod(lambda: None)


class TestByIds(_OverWeaviate):
    make_id = staticmethod(lambda: uuid5_id)
    holds_duplicates = False  # ids are unique


class TestByIdsWithoutNullState(TestByIds):
    null_state = False


class TestByWindowsOverNumbersOfBatches(TestByWindows):
    """Where a server made the properties itself out of the first batch, whole numbers are floats."""

    properties = tuple(
        Property(name=p.name, data_type=DataType.NUMBER) if p.dataType is DataType.INT else p for p in MADE_FOR_IT
    )


class _Counted:
    """Counts the calls of a client, where nobody sees the wire."""

    def __init__(self, store: WeaviateChunkStore) -> None:
        self.sent = 0
        ask = store.collection.ask

        def counting(request: Any) -> Any:
            self.sent += 1
            return ask(request)

        store.collection.ask = counting  # type: ignore[method-assign]

    def __call__(self) -> int:
        return self.sent


# ---- filters


@needs_double
def test_one_search_holds_every_window_and_the_scope(server: Server) -> None:
    store = WeaviateChunkStore(server.client, server.fill(contract_chunks(3, 5)))
    assert len(store.fetch([Window("doc-0", 1, 3), Window("doc-1", 1, 3), Window("doc-2", 0, 1)], "it's")) == 0
    asked = server.double.searches[-1]
    assert asked.limit == 2 * 5 + 100
    windows, scope = asked.filters.filters
    assert [list(one.filters[0].value_text_array.values) for one in windows.filters] == [["doc-0", "doc-1"], ["doc-2"]]
    assert [one.value_int for one in windows.filters[0].filters[1:]] == [1, 3]
    assert list(scope.value_text_array.values) == ["it's"]


def test_every_odd_id_finds_its_own_record(server: Server) -> None:
    names = odd_ids(nul=REAL is None)
    chunk = contract_chunks(1, 1)[0]
    chunks = [Chunk(f"text {i}", _placed(chunk, name), chunk.embedding) for i, name in enumerate(names)]
    name = server.fill(chunks, make_id=uuid5_id)
    for make_id in (None, uuid5_id):
        store = WeaviateChunkStore(server.client, name, make_id=make_id)
        for i, odd in enumerate(names):
            assert [found.text for found in store.fetch([Window(odd, 0, 1)])] == [f"text {i}"]


def _placed(chunk: Chunk, doc_id: str) -> Any:
    return type(chunk.metadata)(doc_id, 0)


def test_a_document_that_matches_by_its_words_alone_is_left_out(server: Server) -> None:
    chunk = contract_chunks(1, 1)[0]
    chunks = [Chunk(name, _placed(chunk, name), chunk.embedding) for name in ("bees md", "md.bees", "Bees.md", "ants")]
    properties = [Property(name="doc_id", data_type=DataType.TEXT), *(p for p in MADE_FOR_IT if p.name != "doc_id")]
    store = WeaviateChunkStore(server.client, server.fill(chunks, properties))
    assert [found.text for found in store.fetch([Window("md.bees", 0, 1)])] == ["md.bees"]


def test_collections_that_cannot_be_filtered_so_say_how_else(server: Server) -> None:
    name = server.fill(properties=[Property(name="text", data_type=DataType.TEXT)])
    with pytest.raises(StoreError, match="has no property 'doc_id': it has text"):
        WeaviateChunkStore(server.client, name).fetch([Window("d", 0, 1)])
    name = server.fill(properties=[Property(name="doc_id", **EXACT), Property(name="chunk_id", **EXACT)])
    with pytest.raises(StoreError, match="'chunk_id' is of type text: ranges need int or number"):
        WeaviateChunkStore(server.client, name).fetch([Window("d", 0, 1)])
    with pytest.raises(StoreError, match=r"make_id gave 'd:0': the ids of Weaviate .* are UUIDs; take uuid5_id"):
        WeaviateChunkStore(server.client, name, make_id=colon_id).fetch([Window("d", 0, 1)])


def test_too_many_records_for_the_places_are_no_silent_loss(server: Server) -> None:
    chunk = contract_chunks(1, 1)[0]
    name = server.fill([chunk] * 102)
    with pytest.raises(StoreError, match="gave 102 records for 1 chunks, maybe not all: its places are kept several"):
        WeaviateChunkStore(server.client, name).fetch([Window("doc-0", 0, 1)])


def test_an_error_of_the_server_is_refused_with_its_words(server: Server) -> None:
    name = server.fill(contract_chunks(1, 1))
    store = WeaviateChunkStore(server.client, name)
    server.client.collections.delete(name)
    with pytest.raises(StoreError, match=r"refused the request .*could not find class"):
        store.fetch([Window("doc-0", 0, 1)])
    with pytest.raises(StoreError, match="cannot be read"):
        WeaviateChunkStore(server.client, name)


@needs_double
def test_what_may_pass_is_asked_again_and_what_will_not_is_not(server: Server) -> None:
    store = WeaviateChunkStore(server.client, server.fill(contract_chunks(1, 3)))
    before = len(server.double.searches)
    server.double.failures = [StatusCode.RESOURCE_EXHAUSTED, StatusCode.RESOURCE_EXHAUSTED]
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert len(server.double.searches) - before == 3
    for code, said in (
        (StatusCode.PERMISSION_DENIED, "refused the request"),
        (StatusCode.DEADLINE_EXCEEDED, "did not answer in time"),
    ):
        server.double.failures = [code]
        with pytest.raises(StoreError, match=said):
            store.fetch([Window("doc-0", 0, 3)])
    assert len(server.double.searches) - before == 5


def test_errors_of_the_client_are_told_apart(server: Server) -> None:
    failure = WeaviateCollection(server.client, server.fill()).failure
    assert failure(WeaviateConnectionError("no route")) == "down"
    assert failure(WeaviateTimeoutError("late")) == failure(TimeoutError()) == "timeout"
    for status, what in ((503, "down"), (429, "down"), (422, "refused")):
        assert failure(UnexpectedStatusCodeError("config", Response(status))) == what
    assert failure(WeaviateClosedClientError()) == "refused"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": True}, "timeout_s is True"),
        ({"fields": "langchian"}, "fields is 'langchian'"),
        ({"vector_name": "small"}, r"vector_name is 'small': .* has default"),
    ],
)
def test_bad_arguments_are_one_clear_error(server: Server, given: dict[str, Any], said: str) -> None:
    with pytest.raises(StoreError, match=said):
        WeaviateChunkStore(server.client, server.fill(), **given)
    with pytest.raises(StoreError, match="client is NoneType"):
        WeaviateChunkStore(None, "Nowhere")
    with pytest.raises(StoreError, match="async_client is WeaviateClient: give a WeaviateAsyncClient"):
        WeaviateChunkStore(None, "Nowhere", async_client=server.client)  # type: ignore[arg-type]


def test_tenants_are_kept_apart(server: Server) -> None:
    name = server.fill(contract_chunks(1, 3), tenants=["acme", "zebra"], make_id=uuid5_id)
    collection = server.client.collections.get(name).with_tenant("acme")
    collection.data.update(uuid5_id("doc-0", 1), properties={"text": "of acme alone"})
    texts = {
        tenant: WeaviateChunkStore(server.client, name, make_id=uuid5_id, tenant=tenant).fetch([Window("doc-0", 1, 2)])
        for tenant in ("acme", "zebra")
    }
    assert texts["acme"][0].text == "of acme alone"
    assert texts["zebra"][0].text != "of acme alone"
    with pytest.raises(StoreError, match="refused"):
        WeaviateChunkStore(server.client, name, make_id=uuid5_id).fetch([Window("doc-0", 1, 2)])


def test_the_first_name_that_the_collection_has_is_filtered_by(server: Server) -> None:
    fields = FieldMap(doc_id=("source", "doc_id"), chunk_id=("part", "chunk_id"), scope=("tenant", "scope"))
    chunks = [*contract_chunks(2, 4), *contract_chunks(1, 4, "acme", "acme")]
    store = WeaviateChunkStore(server.client, server.fill(chunks), fields=fields)
    assert store.warnings == ()
    assert [chunk.key for chunk in store.fetch([Window("doc-1", 2, 3)])] == [("doc-1", 2)]
    assert [chunk.key for chunk in store.fetch([Window("acme-0", 1, 2)], "acme")] == [("acme-0", 1)]


# ---- at the same time, and later


def test_an_async_client_asks_by_itself(server: Server) -> None:
    chunks = contract_chunks()
    name = server.fill(chunks)

    async def ask() -> tuple[list[Any], list[Any], int]:
        async with server.connect_async() as client:
            store = WeaviateChunkStore(None, name, async_client=client)
            retriever = WeaviateRetriever(None, name, lambda question: chunks[3].embedding, async_client=client)
            before = len(server.double.searches)
            found = await store.afetch([Window("doc-1", 0, 99)])
            asked = len(server.double.searches) - before
            with pytest.raises(StoreError, match="has only an async client"):
                store.fetch([Window("doc-1", 0, 99)])
            return found, await retriever.aretrieve("x", k=2), asked

    found, hits, asked = asyncio.run(ask())
    assert sorted(chunk.key for chunk in found) == sorted(c.key for c in chunks if c.metadata.doc_id == "doc-1")
    assert hits[0].key == chunks[3].key
    assert REAL or asked == 1


@needs_double
def test_an_async_client_gives_up_in_time(server: Server) -> None:
    name = server.fill(contract_chunks(1, 3), name="Slow")

    async def ask() -> None:
        async with server.connect_async() as client:
            with pytest.raises(StoreTimeoutError):
                await WeaviateChunkStore(None, name, async_client=client, timeout_s=0.3).afetch([Window("doc-0", 0, 1)])

    asyncio.run(ask())


def test_a_collection_is_scanned_once_and_written_to(server: Server) -> None:
    chunks = contract_chunks(3, 7)
    collection = WeaviateCollection(server.client, server.fill(chunks, make_id=uuid5_id))
    first = _scan(collection)
    assert sorted(first) == sorted(uuid5_id(*chunk.key) for chunk in chunks)
    changed = uuid5_id("doc-0", 2)
    collection.write({changed: {"chunk_id": 70, "file_name": "two words.md", "part": 7, "is_last": False}})
    now = _scan(collection)
    assert now[changed] == {**first[changed], "chunk_id": 70, "file_name": "two words.md", "part": 7, "is_last": False}
    assert {id_: kept for id_, kept in now.items() if id_ != changed} == {
        id_: kept for id_, kept in first.items() if id_ != changed
    }
    fields = FieldMap(doc_id="file_name", chunk_id="part")
    store = WeaviateChunkStore(server.client, collection.name.split("'")[1], fields=fields)
    assert store.warnings == ()
    assert [chunk.key for chunk in store.fetch([Window("two words.md", 7, 8)])] == [("two words.md", 7)]
    with pytest.raises(StoreError, match=r"'meta.x' leads into an object"):
        collection.write({changed: {"meta.x": 1}})


def _scan(collection: WeaviateCollection) -> dict[str, Any]:
    found: dict[str, Any] = {}
    after: Any = None
    while True:
        answer = collection.ask(Scan(after, 4))
        assert not found.keys() & {record.id for record in answer.records}
        found |= {record.id: dict(record.payload) for record in answer.records}
        after = answer.after
        if after is None:
            return found


def test_without_the_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weaviate", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.weaviate")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[weaviate\]'"):
        importlib.import_module("retrivex.adapters.weaviate")


# ---- the example


@needs_double
def test_the_example_finds_a_hit_and_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    with weaviate_server() as (double, http, grpc):
        monkeypatch.setenv("WEAVIATE_PORT", str(http))
        monkeypatch.setenv("WEAVIATE_GRPC_PORT", str(grpc))
        printed = run_example("neighbours_in_weaviate.py")
    assert double.searches
    assert printed.startswith("Found")
    _check_example(printed)


def test_the_example_brings_a_server_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEAVIATE_PORT", raising=False)
    printed = run_example("neighbours_in_weaviate.py")
    assert printed.startswith("No WEAVIATE_PORT in the environment: a stand-in of the tests answers.")
    _check_example(printed)


def _check_example(printed: str) -> None:
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
    assert "1 request to Weaviate" in printed
