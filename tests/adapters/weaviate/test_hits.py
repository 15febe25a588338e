"""Weaviate: hits, scopes and vectors, and what frameworks write; on which server says `test_weaviate.py`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("weaviate")

from support.weaviate_collections import MADE_FOR_IT, Server, needs_double
from weaviate.classes.config import DataType, Property, VectorDistances
from weaviate.classes.data import DataObject

from retrivex import Chunk, RetrievalConfig, SpanComposer
from retrivex.adapters.base.fields import FieldMap, uuid5_id
from retrivex.adapters.weaviate import WeaviateChunkStore, WeaviateRetriever
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("distance", [VectorDistances.COSINE, VectorDistances.DOT, VectorDistances.L2_SQUARED])
def test_hits_come_best_first_and_grow(server: Server, distance: VectorDistances) -> None:
    chunks = contract_chunks()
    name, wanted = server.fill(chunks, distance=distance), chunks[17]
    retriever = WeaviateRetriever(server.client, name, lambda question: wanted.embedding)
    hits = retriever.retrieve("which?", k=5)
    assert hits[0].key == wanted.key
    assert len(hits) == 5
    assert [hit.similarity_score for hit in hits] == sorted((hit.similarity_score for hit in hits), reverse=True)
    best = 0.0 if distance is VectorDistances.L2_SQUARED else 1.0
    assert hits[0].similarity_score == pytest.approx(best, abs=1e-5)
    assert hits[1].similarity_score == pytest.approx(_expected(chunks, hits[1].key, wanted, distance), abs=1e-5)
    composer = SpanComposer(RetrievalConfig(window=1))
    assert wanted.text.strip() in composer.compose(hits[:1], WeaviateChunkStore(server.client, name), query="x").text
    assert asyncio.run(retriever.aretrieve("which?", k=5)) == hits


def _expected(chunks: Sequence[Chunk], key: Any, wanted: Chunk, distance: VectorDistances) -> float:
    own = next(np.asarray(chunk.embedding) for chunk in chunks if chunk.key == key)
    asked = np.asarray(wanted.embedding)
    return float(-((own - asked) ** 2).sum() if distance is VectorDistances.L2_SQUARED else own @ asked)


@pytest.mark.parametrize("null_state", [True, False])
def test_a_scope_finds_its_own_hits(server: Server, null_state: bool) -> None:
    name = server.fill([*contract_chunks(5, 2), *contract_chunks(2, 3, "acme", "acme")], null_state=null_state)
    far = contract_chunks(5, 2)[0].embedding
    retriever = WeaviateRetriever(server.client, name, lambda question: far)
    assert [hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=3, scope="acme")] == ["acme"] * 3
    assert [hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=4)] == [None] * 4
    assert len(retriever.retrieve("x", k=16, scope=["acme", None])) == 16
    assert retriever.retrieve("x", scope="nobody") == []


@pytest.mark.parametrize("scope", ["it", "no", " ", "The"])
def test_a_scope_that_servers_cannot_look_for_is_found_all_the_same(server: Server, scope: str) -> None:
    name = server.fill([*contract_chunks(2, 3), *contract_chunks(1, 3, scope, "own")], make_id=uuid5_id)
    windows = [Window("own-0", 0, 3), Window("doc-0", 0, 3)]
    for make_id in (None, uuid5_id):
        found = WeaviateChunkStore(server.client, name, make_id=make_id).fetch(windows, scope)
        assert sorted(chunk.key for chunk in found) == [("own-0", n) for n in range(3)]
    retriever = WeaviateRetriever(server.client, name, lambda question: [1.0] * 8)
    assert {hit.key[0] for hit in retriever.retrieve("x", k=3, scope=scope)} == {"own-0"}


@needs_double
@pytest.mark.parametrize(("null_state", "limit"), [(True, 7), (False, 28)])
def test_where_the_server_cannot_filter_more_is_asked_for(server: Server, null_state: bool, limit: int) -> None:
    name = server.fill(contract_chunks(1, 3), null_state=null_state)
    WeaviateRetriever(server.client, name, lambda question: [1.0] * 8).retrieve("x", k=7)
    assert server.double.searches[-1].limit == limit


@needs_double
def test_hits_that_other_scopes_crowded_out_are_told_of(server: Server) -> None:
    theirs = [Chunk(c.text, c.metadata, [1.0] * 8) for c in contract_chunks(4, 4, "acme", "acme")]
    mine = [Chunk(c.text, c.metadata, [-1.0] * 8) for c in contract_chunks(1, 2)]
    name = server.fill([*theirs, *mine], null_state=False)
    retriever = WeaviateRetriever(server.client, name, lambda question: [1.0] * 8)
    assert retriever.retrieve("x", k=2) == []
    (warning,) = retriever.warnings
    assert "of the 8 nearest records only 0 may be seen" in warning
    assert "index_null_state=True" in warning
    assert len(retriever.retrieve("x", k=5)) == 2  # the whole collection was looked at
    assert retriever.warnings == (warning,)


def test_more_hits_than_weaviate_gives_are_refused(server: Server) -> None:
    retriever = WeaviateRetriever(server.client, server.fill(), lambda question: [1.0] * 8)
    with pytest.raises(StoreError, match="k is 10001: Weaviate gives at most 10000"):
        retriever.retrieve("x", k=10_001)


def test_of_two_named_vectors_one_is_searched(server: Server) -> None:
    chunks = contract_chunks(2, 4)
    name = server.fill(chunks, vector_names=["long", "short"])
    short = [float(x) for x in chunks[5].embedding[:4]]  # type: ignore[index]
    retriever = WeaviateRetriever(server.client, name, lambda question: short, vector_name="short", with_vectors=True)
    hit = retriever.retrieve("x", k=1)[0]
    assert hit.key == chunks[5].key
    assert hit.chunk.embedding == pytest.approx(short)
    with pytest.raises(StoreError, match=r"refused the request .*target vector"):
        WeaviateRetriever(server.client, name, lambda question: short).retrieve("x")


@pytest.mark.parametrize("names", [(), ("only",)])
def test_vectors_come_where_they_are_asked_for(server: Server, names: Sequence[str]) -> None:
    chunk = contract_chunks(1, 1)[0]
    name, window = server.fill([chunk], vector_names=names), [Window("doc-0", 0, 1)]
    assert WeaviateChunkStore(server.client, name).fetch(window)[0].embedding is None
    found = WeaviateChunkStore(server.client, name, with_vectors=True).fetch(window)[0].embedding
    assert found == pytest.approx(chunk.embedding)
    hits = WeaviateRetriever(server.client, name, lambda question: chunk.embedding).retrieve("x")
    assert [hit.similarity_score for hit in hits] == [pytest.approx(1.0)]


# ---- what frameworks write: objects of the shape that their integrations give them, and a chunk number beside


def _langchain(n: int) -> dict[str, Any]:
    return {"text": f"Sentence {n}.", "source": "bees.md", "start_index": 12 * n, "chunk_id": n}


def _llamaindex(n: int) -> dict[str, Any]:
    content = {"id_": f"node-{n}", "start_char_idx": 12 * n, "end_char_idx": 12 * n + 11, "text": ""}
    ids = {"document_id": "bees.md", "doc_id": "bees.md", "ref_doc_id": "bees.md"}
    node = {"_node_type": "TextNode", "_node_content": json.dumps(content)}
    return {"text": f"Sentence {n}.", "chunk_id": n, **node, **ids}


def _haystack(n: int) -> dict[str, Any]:
    place = {"source_id": "bees.md", "split_id": n, "split_idx_start": 12 * n, "page_number": 1}
    return {"content": f"Sentence {n}.", "_original_id": f"hash-{n}", **place}


@pytest.mark.parametrize(
    ("layout", "written"), [("langchain", _langchain), ("llamaindex", _llamaindex), ("haystack", _haystack)]
)
def test_layouts_of_frameworks(server: Server, layout: Any, written: Callable[[int], dict[str, Any]]) -> None:
    # as auto-schema makes them: texts indexed by words, whole numbers as numbers
    types = {name: DataType.TEXT if isinstance(v, str) else DataType.NUMBER for name, v in written(0).items()}
    name = server.fill(properties=[Property(name=n, data_type=t) for n, t in types.items()])
    objects = [DataObject(properties=written(n), vector=[1.0, n, *[0.0] * 6]) for n in range(5)]
    assert not server.client.collections.get(name).data.insert_many(objects).has_errors
    store = WeaviateChunkStore(server.client, name, fields=layout)
    found = sorted(store.fetch([Window("bees.md", 1, 4)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text, c.metadata.char_start) for c in found] == [
        (("bees.md", n), f"Sentence {n}.", 12 * n) for n in (1, 2, 3)
    ]
    retriever = WeaviateRetriever(server.client, name, lambda question: [1.0, *[0.0] * 7], fields=layout)
    assert [hit.key for hit in retriever.retrieve("x", k=2)] == [("bees.md", 0), ("bees.md", 1)]


def test_dates_are_texts_that_json_takes(server: Server) -> None:
    name = server.fill(properties=[*MADE_FOR_IT, Property(name="made", data_type=DataType.DATE)])
    payload = {**FieldMap().payload(contract_chunks(1, 1)[0]), "made": "2026-05-01T12:00:00Z"}
    server.client.collections.get(name).data.insert_many([DataObject(properties=payload, vector=[1.0] * 8)])
    chunk = WeaviateChunkStore(server.client, name).fetch([Window("doc-0", 0, 1)])[0]
    assert json.loads(json.dumps(chunk.metadata.custom_metadata))["made"] == "2026-05-01T12:00:00+00:00"
