"""Chroma: hits, their scores, and scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration

chromadb = pytest.importorskip("chromadb")

from support.chroma_server import ChromaServer, quiet  # noqa: E402

from retrivex.adapters.base.fields import FieldMap, colon_id  # noqa: E402
from retrivex.adapters.chroma import ChromaChunkStore, ChromaRetriever  # noqa: E402


def test_hits_come_best_first_and_go_into_the_composer(chroma: ChromaServer) -> None:
    chunks = contract_chunks()
    name = chroma.fill(chunks, configuration={"hnsw": {"space": "cosine"}})
    wanted = chunks[17]
    retriever = ChromaRetriever(chroma.client, name, lambda question: wanted.embedding)
    before = chroma.requests
    hits = retriever.retrieve("which?", k=4)
    assert chroma.requests - before == 1
    assert hits[0].key == wanted.key
    assert hits[0].similarity_score == pytest.approx(1.0, abs=1e-5)
    scores = [hit.similarity_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len(hits) == 4
    store = ChromaChunkStore(chroma.client, name, make_id=colon_id)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits[:1], store, query="which?")
    assert chunks[16].text.strip() in made.text
    assert chunks[18].text.strip() in made.text


@pytest.mark.parametrize(
    ("space", "score"),
    [
        ("cosine", lambda a, b: float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))),
        ("ip", lambda a, b: float(a @ b)),
        ("l2", lambda a, b: -float(np.sum((a - b) ** 2))),
    ],
)
def test_scores_are_larger_for_nearer_vectors_in_every_metric(
    chroma: ChromaServer, space: str, score: Callable[[Any, Any], float]
) -> None:
    vectors = np.random.default_rng(3).standard_normal((20, 8)).astype(np.float32)
    chunks = [Chunk(f"text {n}", ChunkMetadata("d", n), vector) for n, vector in enumerate(vectors)]
    asked = np.ones(8, dtype=np.float32)
    for options in ({"configuration": {"hnsw": {"space": space}}}, {"metadata": {"hnsw:space": space}}):
        name = chroma.fill(chunks, **options)
        hits = ChromaRetriever(chroma.client, name, lambda question: asked, with_vectors=True).retrieve("x")
        expected = sorted((score(asked, vector) for vector in vectors), reverse=True)
        assert [hit.similarity_score for hit in hits] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        for hit in hits:
            assert np.allclose(hit.chunk.embedding, vectors[hit.chunk.metadata.chunk_id])


def test_a_scope_finds_its_own_hits_alone(chroma: ChromaServer) -> None:
    chunks = [*contract_chunks(2, 10), *contract_chunks(2, 10, "acme", "acme")]
    name = chroma.fill(chunks)
    retriever = ChromaRetriever(chroma.client, name, lambda question: chunks[25].embedding)
    expected = {"acme": {"acme"}, None: {None}, ("acme", None): {"acme", None}, "nobody": set()}
    for scope, seen in expected.items():
        asked = list(scope) if isinstance(scope, tuple) else scope
        hits = retriever.retrieve("x", k=10, scope=asked)
        assert {hit.chunk.metadata.scope for hit in hits} == seen
        assert len(hits) == (10 if seen else 0)
    assert retriever.warnings == ()


def _crowded(chroma: ChromaServer, tenants: int) -> str:
    """Make a collection in which 400 records of tenants are nearer than five that everybody may see."""
    name = f"crowded-{tenants}"
    made = chroma.client.create_collection(name, embedding_function=None)
    metadatas = [{"doc_id": "t", "chunk_id": n, "scope": f"tenant {n % tenants}"} for n in range(400)]
    ids = [f"t:{n}" for n in range(400)]
    # no two of them the same, so that Chroma's index reaches all
    made.add(ids=ids, documents=ids, metadatas=metadatas, embeddings=[[1.0, n / 8000] for n in range(400)])
    ids = [f"d:{n}" for n in range(5)]
    made.add(
        ids=ids,
        documents=ids,
        metadatas=[{"doc_id": "d", "chunk_id": n} for n in range(5)],
        embeddings=[[0.9, 0.1 + n / 100] for n in range(5)],
    )
    return name


def test_fewer_hits_than_asked_for_are_told_of_where_others_are_in_the_way(chroma: ChromaServer) -> None:
    retriever = ChromaRetriever(chroma.client, _crowded(chroma, 400), lambda question: [1.0, 0.0])
    before = chroma.requests
    assert retriever.retrieve("x", k=5) == []
    assert chroma.requests - before <= 2  # the collection itself, and its records
    [warning] = retriever.warnings
    assert "of 20 records only 0 may be seen, so that there are fewer hits than k=5" in warning

    async def ask() -> tuple[int, tuple[str, ...]]:
        client = await chromadb.AsyncHttpClient("127.0.0.1", chroma.port, settings=quiet())
        other = ChromaRetriever(client, "crowded-400", lambda question: [1.0, 0.0])
        return len(await other.aretrieve("x", k=5)), other.warnings

    assert asyncio.run(ask()) == (0, (warning,))


def test_records_that_the_index_does_not_reach_are_told_of(chroma: ChromaServer) -> None:
    sparse = {"hnsw": {"space": "l2", "max_neighbors": 2, "ef_construction": 2, "ef_search": 1}}
    made = chroma.client.create_collection("sparse", embedding_function=None, configuration=sparse)
    vectors = {"theirs": [[1.0, n / 8000] for n in range(400)], "own": [[0.9, 0.1 + n / 100] for n in range(5)]}
    for scope, embeddings in vectors.items():
        ids = [f"{scope}:{n}" for n in range(len(embeddings))]
        metadatas = [{"doc_id": scope, "chunk_id": n, "scope": scope} for n in range(len(embeddings))]
        made.add(ids=ids, documents=ids, metadatas=metadatas, embeddings=embeddings)
    reached = made.query(query_embeddings=[[1.0, 0.0]], n_results=5, where={"scope": "own"})["ids"][0]
    assert len(reached) < 5, "Chroma reaches all now: make its index sparser"
    retriever = ChromaRetriever(chroma.client, "sparse", lambda question: [1.0, 0.0])
    assert len(retriever.retrieve("x", k=5, scope="own")) == len(reached)
    [warning] = retriever.warnings
    assert f"the index found only {len(reached)} of the records that match" in warning


def test_a_collection_whose_scope_means_something_else_is_not_filtered(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 10, "large"))
    retriever = ChromaRetriever(chroma.client, name, lambda question: np.ones(8), fields=FieldMap(scope=()))
    assert len(retriever.retrieve("x", k=7)) == 7
    store = ChromaChunkStore(chroma.client, name, make_id=colon_id, fields=FieldMap(scope=()))
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3


def test_records_without_a_place_are_hits_that_do_not_grow(chroma: ChromaServer) -> None:
    made = chroma.client.create_collection("unplaced", embedding_function=None)
    made.add(ids=["a", "b"], documents=["one", "two"], embeddings=[[1.0, 0.0], [0.0, 1.0]])
    retriever = ChromaRetriever(chroma.client, "unplaced", lambda question: [1.0, 0.1])
    assert [hit.chunk.text for hit in retriever.retrieve("x")] == ["one", "two"]
    assert "stay as they are" in retriever.warnings[0]


def test_vectors_of_another_size_are_refused_with_one_clear_error(chroma: ChromaServer) -> None:
    name = chroma.fill(contract_chunks(1, 2))
    before = chroma.requests
    with pytest.raises(StoreError, match=r"refused the request .*dimension of 8, got 2"):
        ChromaRetriever(chroma.client, name, lambda question: [1.0, 0.0]).retrieve("x")
    assert chroma.requests - before == 2  # looking the collection up, and asking it once
