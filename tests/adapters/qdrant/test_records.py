"""Qdrant: what frameworks write, scanning and writing, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("qdrant_client")

from qdrant_client import QdrantClient, models
from support.qdrant_collections import NAME, Connection, fill

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.adapters.base.collection import Scan
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantCollection, QdrantRetriever, uuid5_id
from retrivex.model.window import Window
from retrivex.testing import contract_chunks, odd_ids

pytestmark = pytest.mark.integration

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
def test_what_frameworks_write_is_read(layout: Any, local: bool, qdrant: Connection) -> None:
    name = qdrant.name
    client = QdrantClient(":memory:") if local else qdrant.client
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.COSINE))
    client.upsert(
        name,
        [models.PointStruct(id=uuid5_id("x", n), vector=[1.0, float(n)], payload=WRITTEN[layout](n)) for n in range(5)],
    )
    store = QdrantChunkStore(client, name, fields=layout)
    found = sorted(store.fetch([Window("bees", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text) for c in found] == [(("bees", 1), "Sentence 1."), (("bees", 2), "Sentence 2.")]
    assert [(c.metadata.char_start, c.metadata.char_end) for c in found] == [(12, 23), (24, 35)]
    hits = QdrantRetriever(client, name, lambda question: [1.0, 9.0], fields=layout).retrieve("x", k=1)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits, store)
    assert [span.chunk_ids for span in made.spans] == [[3, 4]]


# ---- backfill


@pytest.mark.parametrize("local", [True, False])
def test_a_scan_sees_every_record_once_and_fields_can_be_written(local: bool, qdrant: Connection) -> None:
    name = qdrant.name
    client = QdrantClient(":memory:") if local else qdrant.client
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
