"""Milvus: the contract over Milvus Lite, and over the same with the filter templates of a server."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("milvus_lite")

from pymilvus import DataType, Function, FunctionType
from support.examples import run_example
from support.milvus_collections import AsyncMilvusClient, Server, numbers, with_async
from support.milvus_server import LiteServicer, milvus_server
from support.vector_contract import VectorContract

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap, MakeId, colon_id
from retrivex.adapters.milvus import MilvusChunkStore, MilvusRetriever
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.window import Window
from retrivex.testing import StoreUnderTest, contract_chunks

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


class _OverMilvus(VectorContract):
    make_id: Callable[..., MakeId | None]
    fields = FieldMap()
    columns: Sequence[tuple[str, DataType]] = ()
    most_in_a_request = 16_384

    @pytest.fixture(autouse=True)
    def _serve(self, lite: Server, tmp_path: Path) -> None:
        self.server, self.folder = lite, tmp_path

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        server = self.server
        name = server.fill(chunks, self.fields, self.columns)
        # Milvus Lite is slow where a thousand documents are named in JSON
        store = MilvusChunkStore(
            server.client, name, fields=self.fields, make_id=self.make_id(), timeout_s=100, **options
        )
        return StoreUnderTest(store, lambda: len(server.asked), lambda: server.client.drop_collection(name))

    def make_for_words(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        server, fields = self.server, self.fields
        name = f"words_{next(numbers)}"
        schema = server.client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("pk", DataType.VARCHAR, is_primary=True, max_length=2000)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
        schema.add_field("text", DataType.VARCHAR, max_length=2000, enable_analyzer=True)
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function("bm25", FunctionType.BM25, input_field_names=["text"], output_field_names=["sparse"])
        )
        params = server.client.prepare_index_params()
        params.add_index("vector", index_type="FLAT", metric_type="COSINE")
        params.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        server.client.create_collection(name, schema=schema, index_params=params)
        embeddings = [[float(x) for x in np.asarray(chunk.embedding)] for chunk in chunks]
        rows = [
            {"pk": colon_id(*c.key), "vector": v, **fields.payload(c)} for c, v in zip(chunks, embeddings, strict=True)
        ]
        server.client.insert(name, rows)
        store = MilvusChunkStore(server.client, name, fields=fields, timeout_s=5)
        return StoreUnderTest(store, lambda: len(server.asked), lambda: server.client.drop_collection(name))

    def make_down(self) -> MilvusChunkStore:
        with milvus_server(self.folder / "down", LiteServicer) as (uri, servicer):
            server = Server(uri, servicer)
            name = server.fill(contract_chunks(1, 3))
            return MilvusChunkStore(server.client, name, make_id=self.make_id(), timeout_s=0.3)

    def make_hanging(self) -> MilvusChunkStore:
        name = self.server.fill(contract_chunks(1, 3), name=f"slow_{next(numbers)}")
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


# ---- at the same time, and later


@with_async
def test_an_async_client_asks_by_itself(milvus: Server) -> None:
    chunks = contract_chunks()
    name = milvus.fill(chunks)
    expected = sorted(chunk.key for chunk in chunks if chunk.metadata.doc_id == "doc-1")

    async def ask() -> tuple[list[Any], list[Any], int]:
        client = AsyncMilvusClient(milvus.uri)
        try:
            store = MilvusChunkStore(None, name, async_client=client)
            retriever = MilvusRetriever(None, name, lambda question: chunks[3].embedding, async_client=client)
            await store.afetch([])
            before = len(milvus.asked)
            found = await store.afetch([Window("doc-1", 0, 99)])
            asked = len(milvus.asked) - before
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
    name = lite.fill(contract_chunks(1, 3), name=f"slow_{next(numbers)}")

    async def ask() -> None:
        client = AsyncMilvusClient(lite.uri)
        try:
            with pytest.raises(StoreTimeoutError):
                await MilvusChunkStore(None, name, async_client=client, timeout_s=0.3).afetch([Window("doc-0", 0, 1)])
        finally:
            await client.close()

    asyncio.run(ask())


def test_without_the_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.milvus")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'retrivex-rag\[milvus\]'"):
        importlib.import_module("retrivex.adapters.milvus")


# ---- the example


def test_the_example_finds_a_hit_and_its_neighbours() -> None:
    printed = run_example("neighbours_in_milvus.py")
    assert "Found: The queen stays in the middle of the cluster." in printed
    assert "warm by shivering. The queen stays in the middle of the cluster. In spring" in printed
    assert "1 request to Milvus" in printed
