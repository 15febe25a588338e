"""Milvus: the contract over Milvus Lite, and over the same with the filter templates of a server."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("milvus_lite")

import pymilvus
from hypothesis import given
from hypothesis import strategies as st
from milvus_lite.search.filter import parse_expr
from milvus_server import LiteServicer, TemplateServicer, milvus_server
from pymilvus import DataType, MilvusClient
from pymilvus.exceptions import MilvusException
from test_examples import ROOT, run

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.adapters.collection import Scan
from retrivex.adapters.fields import FieldMap, MakeId, colon_id
from retrivex.adapters.milvus import (
    MILVUS_LAYOUTS,
    MilvusChunkStore,
    MilvusCollection,
    MilvusRetriever,
)
from retrivex.adapters.milvus_filters import Filter, any_of, parse_schema
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, odd_ids

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

AsyncMilvusClient: Any = getattr(pymilvus, "AsyncMilvusClient", None)
with_async = pytest.mark.skipif(not hasattr(AsyncMilvusClient, "describe_collection"), reason="pymilvus before 2.6")

_numbers = itertools.count()


class Server:
    """A server with a client, and collections made in it."""

    def __init__(self, uri: str, servicer: LiteServicer) -> None:
        self.uri, self.asked = uri, servicer.asked
        self.client = MilvusClient(uri)

    def fill(
        self,
        chunks: Sequence[Chunk] = (),
        fields: FieldMap | None = None,
        columns: Sequence[tuple[str, DataType]] = (),
        metric: str = "COSINE",
        indexed: Sequence[str] = (),
        dynamic: bool = True,
        name: str = "",
    ) -> str:
        """Make a collection of chunks under the ids `doc:n`."""
        name = name or f"test_{next(_numbers)}"
        fields = fields or FieldMap()
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=dynamic)
        schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=2000)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
        for column, type_ in columns:
            schema.add_field(
                column, type_, nullable=True, **({"max_length": 2000} if type_ is DataType.VARCHAR else {})
            )
        params = self.client.prepare_index_params()
        params.add_index("vector", index_type="FLAT", metric_type=metric)
        for column in indexed:
            params.add_index(column, index_type="INVERTED")
        self.client.create_collection(name, schema=schema, index_params=params)
        records = [
            {"pk": colon_id(*chunk.key), "vector": list(map(float, chunk.embedding)), **fields.payload(chunk)}  # type: ignore[arg-type]
            for chunk in chunks
        ]
        for start in range(0, len(records), 1000):
            self.client.insert(name, records[start : start + 1000])
        return name


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with milvus_server(tmp_path_factory.mktemp("lite"), LiteServicer) as (uri, servicer):
        yield Server(uri, servicer)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with milvus_server(tmp_path_factory.mktemp("templates"), TemplateServicer) as (uri, servicer):
        yield Server(uri, servicer)


class _OverMilvus(ChunkStoreContract):
    make_id: Callable[..., MakeId | None]
    fields = FieldMap()
    columns: Sequence[tuple[str, DataType]] = ()
    most_in_a_request = 16_384

    @pytest.fixture(autouse=True)
    def _serve(self, lite: Server, tmp_path: Path) -> None:
        self.server, self.folder = lite, tmp_path

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        server = self.server
        name = server.fill(chunks, self.fields, self.columns)
        # Milvus Lite is slow where a thousand documents are named in JSON
        store = MilvusChunkStore(
            server.client, name, fields=self.fields, make_id=self.make_id(), timeout_s=100, **options
        )
        return StoreUnderTest(store, lambda: len(server.asked), lambda: server.client.drop_collection(name))

    def make_down(self) -> MilvusChunkStore:
        with milvus_server(self.folder / "down", LiteServicer) as (uri, servicer):
            server = Server(uri, servicer)
            name = server.fill(contract_chunks(1, 3))
            return MilvusChunkStore(server.client, name, make_id=self.make_id(), timeout_s=0.3)

    def make_hanging(self) -> MilvusChunkStore:
        name = self.server.fill(contract_chunks(1, 3), name=f"slow_{next(_numbers)}")
        return MilvusChunkStore(self.server.client, name, make_id=self.make_id(), timeout_s=0.3)


class TestByWindows(_OverMilvus):
    make_id = staticmethod(lambda: None)


class TestByIds(_OverMilvus):
    make_id = staticmethod(lambda: colon_id)


class TestByWindowsInColumns(_OverMilvus):
    make_id = staticmethod(lambda: None)
    columns = (("doc_id", DataType.VARCHAR), ("chunk_id", DataType.INT64), ("scope", DataType.VARCHAR))


class TestByWindowsInJson(_OverMilvus):
    make_id = staticmethod(lambda: None)
    fields = FieldMap(root="metadata")
    columns = (("metadata", DataType.JSON),)


class TestTemplatesByWindows(_OverMilvus):
    make_id = staticmethod(lambda: None)

    @pytest.fixture(autouse=True)
    def _serve(self, templates: Server, tmp_path: Path) -> None:
        self.server, self.folder = templates, tmp_path


class TestTemplatesByIds(TestTemplatesByWindows):
    make_id = staticmethod(lambda: colon_id)


@pytest.fixture(params=["lite", "templates"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


# ---- filters


def test_values_lie_beside_the_filter(templates: Server) -> None:
    name = templates.fill(contract_chunks(2, 3), FieldMap(root="metadata"), [("metadata", DataType.JSON)])
    client = _Recording(templates.client)
    store = MilvusChunkStore(client, name, fields=FieldMap(root="metadata"))  # type: ignore[arg-type]
    assert len(store.fetch([Window("doc-0", 1, 3), Window("doc-1", 1, 3)])) == 4
    asked = client.calls[-1]
    assert asked["filter"] == (
        '(metadata["doc_id"] in {v0} and metadata["chunk_id"] >= {v1} and metadata["chunk_id"] < {v2})'
        ' and (not exists metadata["scope"])'
    )
    assert asked["filter_params"] == {"v0": ["doc-0", "doc-1"], "v1": 1, "v2": 3}


def test_every_odd_id_finds_its_own_record(server: Server) -> None:
    names = odd_ids(nul=True)
    chunks = [Chunk(f"text {i}", ChunkMetadata(n, 0), contract_chunks(1, 1)[0].embedding) for i, n in enumerate(names)]
    name = server.fill(chunks)
    for make_id in (None, colon_id):
        store = MilvusChunkStore(server.client, name, make_id=make_id)
        for i, odd in enumerate(names):
            assert [chunk.text for chunk in store.fetch([Window(odd, 0, 1)])] == [f"text {i}"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_one_value_to_the_parser_of_milvus_lite(text: str) -> None:
    lite = parse_schema(_DESCRIBED, {"pk": "VARCHAR"}, [], "milvus_lite-3")
    written = Filter(lite)
    assert parse_expr(f"pk == {written.value(text)}").right.value == text
    assert [one.value for one in parse_expr(written.one_of("pk", [text, text])).values.elements] == [text, text]
    assert written.values == {}
    server = Filter(parse_schema(_DESCRIBED, {"pk": "VARCHAR"}, [], "2.6.1"))
    assert (server.value(text), server.values) == ("{v0}", {"v0": text})


@given(st.integers(1, 3000))
def test_however_many_conditions_are_joined_the_tree_is_flat(count: int) -> None:
    joined = any_of([f"pk == {n}" for n in range(count)])
    depths = itertools.accumulate(1 if c == "(" else -1 if c == ")" else 0 for c in joined)
    assert max(depths) <= math.ceil(math.log2(count))
    assert re.findall(r"pk == (\d+)", joined) == [str(n) for n in range(count)]


@pytest.mark.parametrize("odd", ['a"] or ["b', "back\\slash", "new\nline", "it's"])
def test_names_of_fields_that_could_be_more_than_names_are_refused(lite: Server, odd: str) -> None:
    name = lite.fill(contract_chunks(1, 1))
    with pytest.raises(StoreError, match="Milvus filters by no name with quotes"):
        MilvusChunkStore(lite.client, name, fields=FieldMap(doc_id=odd)).fetch([Window("d", 0, 1)])


def test_names_that_are_words_of_filters_or_none_at_all_are_asked_for_in_brackets(lite: Server) -> None:
    fields = FieldMap(doc_id="in", chunk_id="part no")
    store = MilvusChunkStore(lite.client, lite.fill(contract_chunks(1, 3), fields), fields=fields)
    assert [chunk.key for chunk in store.fetch([Window("doc-0", 1, 2)])] == [("doc-0", 1)]


def test_a_collection_without_the_fields_says_so(lite: Server) -> None:
    columns = [("text", DataType.VARCHAR)]
    name = lite.fill([], columns=columns, dynamic=False)
    with pytest.raises(StoreError, match="has no field 'doc_id': its columns are pk, vector, text"):
        MilvusChunkStore(lite.client, name).fetch([Window("d", 0, 1)])


def test_ids_that_are_numbers(lite: Server) -> None:
    name = f"test_{next(_numbers)}"
    lite.client.create_collection(name, dimension=8)
    chunk = contract_chunks(1, 1)[0]
    lite.client.insert(name, [{"id": 7, "vector": list(chunk.embedding), **FieldMap().payload(chunk)}])
    store = MilvusChunkStore(lite.client, name, make_id=lambda doc_id, n: str(7 + n))
    assert [found.text for found in store.fetch([Window("doc-0", 0, 1)])] == [chunk.text]
    with pytest.raises(StoreError, match=r"make_id gave 'doc-0:0': the ids of Milvus .* are whole numbers"):
        MilvusChunkStore(lite.client, name, make_id=colon_id).fetch([Window("doc-0", 0, 1)])


def test_a_scope_in_a_collection_that_has_none_sees_nothing(lite: Server) -> None:
    columns = [("text", DataType.VARCHAR), ("doc_id", DataType.VARCHAR), ("chunk_id", DataType.INT64)]
    name = lite.fill([], columns=columns, dynamic=False)
    row = {"pk": "d:0", "vector": [1.0] * 8, "text": "Bees sleep.", "doc_id": "d", "chunk_id": 0}
    lite.client.insert(name, [row])
    store = MilvusChunkStore(lite.client, name)
    assert len(store.fetch([Window("d", 0, 1)])) == 1
    assert store.fetch([Window("d", 0, 1)], scope="acme") == []


# ---- what is wrong with a collection


def test_a_missing_index_is_named_with_what_makes_it(lite: Server) -> None:
    columns = _OverMilvusColumns
    store = MilvusChunkStore(lite.client, name := lite.fill(contract_chunks(1, 1), columns=columns))
    command = store.warnings[0].split("once: ")[1]
    exec(command, {"client": lite.client})
    assert MilvusChunkStore(lite.client, name).warnings == ()
    assert MilvusChunkStore(lite.client, name, make_id=colon_id).warnings == ()


def test_fields_in_json_want_an_index_on_their_path(templates: Server) -> None:
    fields = FieldMap(root="metadata")
    name = templates.fill([], fields, [("metadata", DataType.JSON)])
    flat, nested = templates.fill([]), MilvusChunkStore(templates.client, name, fields=fields)
    assert (
        "params.add_index('metadata', index_type='INVERTED', index_name='by_doc_id', "
        """params={'json_path': 'metadata["doc_id"]', 'json_cast_type': 'varchar'})"""
    ) in nested.warnings[0]
    assert (
        "params.add_index('chunk_id', index_type='INVERTED', index_name='by_chunk_id', "
        "params={'json_path': 'chunk_id', 'json_cast_type': 'double'})"
    ) in MilvusChunkStore(templates.client, flat).warnings[0]


@pytest.mark.parametrize("path", ['metadata["doc_id"]', "/doc_id", "/metadata/doc_id"])
def test_an_index_on_a_path_counts_however_the_server_writes_the_path(templates: Server, path: str) -> None:
    fields = FieldMap(root="metadata", chunk_id=("doc_id",))
    client = _Recording(templates.client)
    client.indexes = [{"field_name": "metadata", "index_type": "INVERTED", "json_path": path}]
    name = templates.fill([], fields, [("metadata", DataType.JSON)])
    assert MilvusChunkStore(client, name, fields=fields).warnings == ()  # type: ignore[arg-type]


def test_a_collection_that_is_not_there_is_said_at_once(lite: Server) -> None:
    with pytest.raises(StoreError, match="Milvus 'nowhere': its schema cannot be read"):
        MilvusChunkStore(lite.client, "nowhere")


def test_a_collection_that_is_not_loaded_is_refused_with_the_reason(lite: Server) -> None:
    name = lite.fill(contract_chunks(1, 1))
    lite.client.release_collection(name)
    with pytest.raises(StoreError, match=r"refused the request .*load"):
        MilvusChunkStore(lite.client, name).fetch([Window("doc-0", 0, 1)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": float("inf")}, "timeout_s is inf"),
        ({"fields": "langchian"}, "fields is 'langchian'"),
        ({"vector_name": "text"}, "vector_name is 'text'"),
    ],
)
def test_bad_arguments_are_one_clear_error(lite: Server, given: dict[str, Any], said: str) -> None:
    name = lite.fill(contract_chunks(1, 1))
    with pytest.raises(StoreError, match=said):
        MilvusChunkStore(lite.client, name, **given)
    with pytest.raises(StoreError, match="client is None"):
        MilvusChunkStore(None, name)


def test_what_may_pass_is_asked_again_and_what_will_not_is_not(lite: Server) -> None:
    client = _Recording(lite.client)
    store = MilvusChunkStore(client, lite.fill(contract_chunks(1, 3)), make_id=colon_id)  # type: ignore[arg-type]
    client.failures = [MilvusException(1, "service not ready"), MilvusException(901, "node not found")]
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert len(client.calls) == 3
    client.failures = [MilvusException(1100, "invalid parameter")] * 2
    with pytest.raises(StoreError, match=r"refused the request .*invalid parameter"):
        store.fetch([Window("doc-0", 0, 3)])
    assert len(client.calls) == 4


# ---- the retriever


@pytest.mark.parametrize("metric", ["COSINE", "IP", "L2"])
def test_hits_come_best_first_and_grow(server: Server, metric: str) -> None:
    chunks = contract_chunks()
    name, wanted = server.fill(chunks, metric=metric), chunks[17]
    retriever = MilvusRetriever(server.client, name, lambda question: wanted.embedding)
    hits = retriever.retrieve("which?", k=5)
    assert hits[0].key == wanted.key
    assert [hit.similarity_score for hit in hits] == sorted((hit.similarity_score for hit in hits), reverse=True)
    assert hits[0].similarity_score == pytest.approx(0.0 if metric == "L2" else 1.0, abs=1e-5)
    made = SpanComposer(RetrievalConfig(window=1)).compose(
        hits[:1], MilvusChunkStore(server.client, name), query="which?"
    )
    assert wanted.text.strip() in made.text
    assert asyncio.run(retriever.aretrieve("which?", k=5)) == hits


def test_a_scope_finds_its_own_hits_however_far_they_are(server: Server) -> None:
    chunks = [*contract_chunks(20, 10), *contract_chunks(1, 3, "acme", "acme")]
    name = server.fill(chunks)
    retriever = MilvusRetriever(server.client, name, lambda question: chunks[0].embedding)
    assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=3, scope="acme")} == {"acme"}
    assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=3, scope=["acme", None])} == {None}
    assert len(retriever.retrieve("x", k=203, scope=["acme", None])) == 203


def test_more_hits_than_milvus_gives_are_refused(lite: Server) -> None:
    retriever = MilvusRetriever(lite.client, lite.fill(contract_chunks(1, 1)), lambda question: [1.0] * 8)
    with pytest.raises(StoreError, match="k is 16385: Milvus gives at most 16384"):
        retriever.retrieve("x", k=16_385)


def test_vectors_come_where_they_are_asked_for(lite: Server) -> None:
    chunk = contract_chunks(1, 1)[0]
    name, window = lite.fill([chunk]), [Window("doc-0", 0, 1)]
    assert MilvusChunkStore(lite.client, name).fetch(window)[0].embedding is None
    found = MilvusChunkStore(lite.client, name, with_vectors=True).fetch(window)[0].embedding
    assert found == pytest.approx(chunk.embedding)


def test_columns_of_arrays_are_lists(lite: Server) -> None:
    name = f"test_{next(_numbers)}"
    schema = MilvusClient.create_schema(enable_dynamic_field=True)
    schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=100)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    texts = {"element_type": DataType.VARCHAR, "max_capacity": 9, "max_length": 99}
    schema.add_field("heading_path", DataType.ARRAY, **texts)
    params = lite.client.prepare_index_params()
    params.add_index("vector", index_type="FLAT", metric_type="IP")
    lite.client.create_collection(name, schema=schema, index_params=params)
    row = {"pk": "d:0", "vector": [1, 0], "heading_path": ["Guide", "Bees"], "text": "x", "doc_id": "d", "chunk_id": 0}
    lite.client.insert(name, [row])
    found = MilvusChunkStore(lite.client, name).fetch([Window("d", 0, 1)])[0].metadata
    hit = MilvusRetriever(lite.client, name, lambda question: [1.0, 0.0]).retrieve("x")[0].chunk.metadata
    for metadata in (found, hit):
        assert metadata.heading_path == ("Guide", "Bees")
        assert json.loads(json.dumps(metadata.custom_metadata))["heading_path"] == ["Guide", "Bees"]


def test_of_two_vector_fields_one_must_be_named(lite: Server) -> None:
    name = f"test_{next(_numbers)}"
    schema = MilvusClient.create_schema(enable_dynamic_field=True)
    schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=100)
    params = lite.client.prepare_index_params()
    for field in ("short", "long"):
        schema.add_field(field, DataType.FLOAT_VECTOR, dim=2 if field == "short" else 4)
        params.add_index(field, index_type="FLAT", metric_type="IP")
    lite.client.create_collection(name, schema=schema, index_params=params)
    lite.client.insert(name, [{"pk": "d:0", "short": [1, 0], "long": [0, 0, 0, 2], "text": "x", "doc_id": "d"}])
    with pytest.raises(StoreError, match="name it with vector_name"):
        MilvusRetriever(lite.client, name, lambda question: [0, 0, 0, 1.0]).retrieve("x")
    named = MilvusRetriever(lite.client, name, lambda question: [0, 0, 0, 1.0], vector_name="long")
    hits = named.retrieve("x")
    assert [hit.similarity_score for hit in hits] == [2.0]
    assert "stay as they are" in named.warnings[0]  # its record has no number


def test_a_consistency_level_goes_with_every_request(lite: Server) -> None:
    client = _Recording(lite.client)
    name = lite.fill(contract_chunks(1, 1))
    MilvusChunkStore(client, name, consistency_level="Strong").fetch([Window("doc-0", 0, 1)])  # type: ignore[arg-type]
    assert client.calls[-1]["consistency_level"] == "Strong"


# ---- what frameworks write: records of the shape that their integrations give them, and a chunk number beside


def _langchain(n: int) -> dict[str, Any]:
    return {"pk": f"uuid-{n}", "vector": [1.0, n, *[0.0] * 6], "text": f"Sentence {n}.", "source": "bees.md",
            "start_index": 12 * n, "chunk_id": n}  # fmt: skip


def _llamaindex(n: int) -> dict[str, Any]:
    content = {"id_": f"node-{n}", "start_char_idx": 12 * n, "end_char_idx": 12 * n + 11, "text": ""}
    ids = {"document_id": "bees.md", "doc_id": "bees.md", "ref_doc_id": "bees.md"}
    return {"pk": f"node-{n}", "vector": [1.0, n, *[0.0] * 6], "text": f"Sentence {n}.", "chunk_id": n,
            "_node_type": "TextNode", "_node_content": json.dumps(content), **ids}  # fmt: skip


def _haystack(n: int) -> dict[str, Any]:
    return {"pk": f"hash-{n}", "vector": [1.0, n, *[0.0] * 6], "text": f"Sentence {n}.", "source_id": "bees.md",
            "split_id": n, "split_idx_start": 12 * n, "page_number": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "written"), [("langchain", _langchain), ("llamaindex", _llamaindex), ("haystack", _haystack)]
)
def test_layouts_of_frameworks(server: Server, layout: Any, written: Callable[[int], dict[str, Any]]) -> None:
    name = server.fill()
    server.client.insert(name, [written(n) for n in range(5)])
    store = MilvusChunkStore(server.client, name, fields=layout)
    found = sorted(store.fetch([Window("bees.md", 1, 4)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text, c.metadata.char_start) for c in found] == [
        (("bees.md", n), f"Sentence {n}.", 12 * n) for n in (1, 2, 3)
    ]
    hits = MilvusRetriever(server.client, name, lambda question: [1.0, *[0.0] * 7], fields=layout).retrieve("x", k=2)
    assert [hit.key for hit in hits] == [("bees.md", 0), ("bees.md", 1)]
    assert MILVUS_LAYOUTS[layout].text[0] == "text"


# ---- at the same time, and later


@with_async
def test_an_async_client_asks_by_itself(server: Server) -> None:
    chunks = contract_chunks()
    name = server.fill(chunks)
    expected = sorted(chunk.key for chunk in chunks if chunk.metadata.doc_id == "doc-1")

    async def ask() -> tuple[list[Any], list[Any], int]:
        client = AsyncMilvusClient(server.uri)
        try:
            store = MilvusChunkStore(None, name, async_client=client)
            retriever = MilvusRetriever(None, name, lambda question: chunks[3].embedding, async_client=client)
            await store.afetch([])
            before = len(server.asked)
            found = await store.afetch([Window("doc-1", 0, 99)])
            asked = len(server.asked) - before
            with pytest.raises(StoreError, match="has only an async client"):
                store.fetch([Window("doc-1", 0, 99)])
            return found, await retriever.aretrieve("x", k=2), asked
        finally:
            await client.close()

    found, hits, asked = asyncio.run(ask())
    assert sorted(chunk.key for chunk in found) == expected
    assert hits[0].key == chunks[3].key
    assert asked == 1


@with_async
def test_an_async_client_gives_up_in_time(lite: Server) -> None:
    name = lite.fill(contract_chunks(1, 3), name=f"slow_{next(_numbers)}")

    async def ask() -> None:
        client = AsyncMilvusClient(lite.uri)
        try:
            with pytest.raises(StoreTimeoutError):
                await MilvusChunkStore(None, name, async_client=client, timeout_s=0.3).afetch([Window("doc-0", 0, 1)])
        finally:
            await client.close()

    asyncio.run(ask())


def test_a_collection_is_scanned_in_order_and_written_to(server: Server) -> None:
    fields, columns = FieldMap(root="metadata"), [("metadata", DataType.JSON)]
    chunks = contract_chunks(3, 7)
    collection = MilvusCollection(server.client, server.fill(chunks, fields, columns), fields=fields, with_vectors=True)
    first = _scan(collection)
    assert [record.id for record in first] == sorted(colon_id(*chunk.key) for chunk in chunks)
    collection.write({"doc-0:2": {"metadata.scope": "acme", "metadata.chunk_id": 70, "extra": 1}, "nowhere": {"x": 1}})
    changed = {record.id: record for record in _scan(collection)}
    was = next(record for record in first if record.id == "doc-0:2")
    now = changed.pop("doc-0:2")
    assert now.payload == {
        **was.payload,
        "metadata": {**was.payload["metadata"], "scope": "acme", "chunk_id": 70},
        "extra": 1,
    }
    assert now.vector == pytest.approx(was.vector)
    others = {record.id: record.payload for record in first if record.id != "doc-0:2"}
    assert {id_: record.payload for id_, record in changed.items()} == others


def test_a_collection_that_makes_its_own_ids_is_not_written_to(lite: Server) -> None:
    name = f"test_{next(_numbers)}"
    lite.client.create_collection(name, dimension=8, auto_id=True)
    with pytest.raises(StoreError, match="makes ids by itself"):
        MilvusCollection(lite.client, name).write({"1": {"doc_id": "d"}})


def test_without_the_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    monkeypatch.delitem(sys.modules, "retrivex.adapters.milvus")
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[milvus\]'"):
        importlib.import_module("retrivex.adapters.milvus")


# ---- the example


def test_the_example_finds_a_hit_and_its_neighbours() -> None:
    printed = run((ROOT / "examples/neighbours_in_milvus.py").read_text(encoding="utf-8"), "neighbours_in_milvus.py")
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
    assert "1 request to Milvus" in printed


_DESCRIBED: dict[str, Any] = {"fields": [{"name": "pk", "is_primary": True}]}
_OverMilvusColumns = TestByWindowsInColumns.columns


class _Recording:
    """A client that writes down what it is called with."""

    def __init__(self, client: MilvusClient) -> None:
        self.client = client
        self.calls: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self.indexes: list[dict[str, Any]] | None = None

    def query(self, name: str, **arguments: Any) -> Any:
        self.calls.append(arguments)
        if self.failures:
            raise self.failures.pop(0)
        return self.client.query(name, **arguments)

    def list_indexes(self, name: str, **arguments: Any) -> Any:
        return self.client.list_indexes(name, **arguments) if self.indexes is None else list(range(len(self.indexes)))

    def describe_index(self, name: str, index: Any, **arguments: Any) -> Any:
        return self.client.describe_index(name, index, **arguments) if self.indexes is None else self.indexes[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


def _scan(collection: MilvusCollection) -> list[Any]:
    records: list[Any] = []
    after: Any = None
    while True:
        answer = collection.ask(Scan(after, 4))
        records += answer.records
        after = answer.after
        if after is None:
            return records
