"""Milvus: hits, what frameworks write, scanning and writing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("milvus_lite")

from pymilvus import DataType, MilvusClient
from support.milvus_collections import Recording, Server, numbers
from support.scanning import scanned

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.fields import FieldMap, colon_id
from retrivex.adapters.milvus import MILVUS_LAYOUTS, MilvusChunkStore, MilvusCollection, MilvusRetriever
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


# ---- the retriever


@pytest.mark.parametrize("metric", ["COSINE", "IP", "L2"])
def test_hits_come_best_first_and_grow(milvus: Server, metric: str) -> None:
    chunks = contract_chunks()
    name, wanted = milvus.fill(chunks, metric=metric), chunks[17]
    retriever = MilvusRetriever(milvus.client, name, lambda question: wanted.embedding)
    hits = retriever.retrieve("which?", k=5)
    assert hits[0].key == wanted.key
    assert [hit.similarity_score for hit in hits] == sorted((hit.similarity_score for hit in hits), reverse=True)
    assert hits[0].similarity_score == pytest.approx(0.0 if metric == "L2" else 1.0, abs=1e-5)
    made = SpanComposer(RetrievalConfig(window=1)).compose(
        hits[:1], MilvusChunkStore(milvus.client, name), query="which?"
    )
    assert wanted.text.strip() in made.text
    assert asyncio.run(retriever.aretrieve("which?", k=5)) == hits


def test_a_scope_finds_its_own_hits_however_far_they_are(milvus: Server) -> None:
    chunks = [*contract_chunks(20, 10), *contract_chunks(1, 3, "acme", "acme")]
    name = milvus.fill(chunks)
    retriever = MilvusRetriever(milvus.client, name, lambda question: chunks[0].embedding)
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
    name = f"test_{next(numbers)}"
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
    name = f"test_{next(numbers)}"
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
    client = Recording(lite.client)
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
def test_layouts_of_frameworks(milvus: Server, layout: Any, written: Callable[[int], dict[str, Any]]) -> None:
    name = milvus.fill()
    milvus.client.insert(name, [written(n) for n in range(5)])
    store = MilvusChunkStore(milvus.client, name, fields=layout)
    found = sorted(store.fetch([Window("bees.md", 1, 4)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text, c.metadata.char_start) for c in found] == [
        (("bees.md", n), f"Sentence {n}.", 12 * n) for n in (1, 2, 3)
    ]
    hits = MilvusRetriever(milvus.client, name, lambda question: [1.0, *[0.0] * 7], fields=layout).retrieve("x", k=2)
    assert [hit.key for hit in hits] == [("bees.md", 0), ("bees.md", 1)]
    assert MILVUS_LAYOUTS[layout].text[0] == "text"


def test_a_collection_is_scanned_in_order_and_written_to(milvus: Server) -> None:
    fields, columns = FieldMap(root="metadata"), [("metadata", DataType.JSON)]
    chunks = contract_chunks(3, 7)
    collection = MilvusCollection(milvus.client, milvus.fill(chunks, fields, columns), fields=fields, with_vectors=True)
    first = scanned(collection)
    assert [record.id for record in first] == sorted(colon_id(*chunk.key) for chunk in chunks)
    collection.write({"doc-0:2": {"metadata.scope": "acme", "metadata.chunk_id": 70, "extra": 1}, "nowhere": {"x": 1}})
    changed = {record.id: record for record in scanned(collection)}
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
    name = f"test_{next(numbers)}"
    lite.client.create_collection(name, dimension=8, auto_id=True)
    with pytest.raises(StoreError, match="makes ids by itself"):
        MilvusCollection(lite.client, name).write({"1": {"doc_id": "d"}})
