"""Collections that the frameworks' own packages filled are read, with neighbours: nothing here is made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lancedb")
pytest.importorskip("langchain_community")
pytest.importorskip("llama_index.vector_stores.lancedb")
pytest.importorskip("haystack_integrations")

import lancedb
from haystack import Document as HaystackDocument
from haystack.components.preprocessors import DocumentSplitter
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from langchain_community.vectorstores import LanceDB
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_qdrant import QdrantVectorStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.lancedb import LanceDBVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexQdrant
from qdrant_client import QdrantClient, models

from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBRetriever
from retrivex.adapters.qdrant import QdrantChunkStore, QdrantRetriever
from retrivex.model.window import Window

pytestmark = pytest.mark.integration

SIZE = 8
EMBEDDING = DeterministicFakeEmbedding(size=SIZE)
TEXTS = [f"Sentence {n}." for n in range(5)]


def documents() -> list[Document]:
    places = [{"source": "bees", "start_index": 12 * n, "chunk_id": n} for n in range(len(TEXTS))]
    return [Document(text, metadata=place) for text, place in zip(TEXTS, places, strict=True)]


def nodes() -> list[TextNode]:
    made = []
    for n, text in enumerate(TEXTS):
        node = TextNode(text=text, metadata={"chunk_id": n}, start_char_idx=12 * n, end_char_idx=12 * n + len(text))
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="bees")
        node.embedding = EMBEDDING.embed_query(text)
        made.append(node)
    return made


def check(store: Any, retriever: Any) -> None:
    found = {chunk.key: chunk for chunk in store.fetch([Window("bees", 1, 3), Window("bees", 4, 9)])}
    assert {key: chunk.text for key, chunk in found.items()} == {("bees", n): TEXTS[n] for n in (1, 2, 4)}
    assert [found["bees", n].metadata.char_start for n in (1, 2, 4)] == [12, 24, 48]
    assert [hit.key for hit in retriever.retrieve(TEXTS[3], k=1)] == [("bees", 3)]
    assert store.warnings == retriever.warnings == ()


def test_langchain_in_qdrant() -> None:
    client = QdrantClient(":memory:")
    client.create_collection("x", models.VectorParams(size=SIZE, distance=models.Distance.COSINE))
    QdrantVectorStore(client, "x", EMBEDDING).add_documents(documents())
    embed = EMBEDDING.embed_query
    check(QdrantChunkStore(client, "x", fields="langchain"), QdrantRetriever(client, "x", embed, fields="langchain"))


def test_llamaindex_in_qdrant() -> None:
    client = QdrantClient(":memory:")
    LlamaIndexQdrant(collection_name="x", client=client).add(nodes())
    embed = EMBEDDING.embed_query
    check(QdrantChunkStore(client, "x", fields="llamaindex"), QdrantRetriever(client, "x", embed, fields="llamaindex"))


def test_haystack_in_qdrant(tmp_path: Path) -> None:
    written = QdrantDocumentStore(path=str(tmp_path), index="x", embedding_dim=SIZE)
    splitter = DocumentSplitter(split_by="word", split_length=2, split_overlap=0)
    pieces = splitter.run([HaystackDocument(content="Bees sleep in winter here. They do.")])["documents"]
    written.write_documents([replace(piece, embedding=EMBEDDING.embed_query(piece.content)) for piece in pieces])
    written.close()
    client = QdrantClient(path=str(tmp_path))
    store = QdrantChunkStore(client, "x", fields="haystack")
    [hit] = QdrantRetriever(client, "x", EMBEDDING.embed_query, fields="haystack").retrieve("in winter ", k=1)
    found = sorted(store.fetch([Window(hit.key[0], 0, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [chunk.text for chunk in found] == ["Bees sleep ", "in winter ", "here. They "]
    assert [(chunk.metadata.char_start, chunk.metadata.page) for chunk in found] == [(0, 1), (11, 1), (21, 1)]
    client.close()


def test_langchain_in_lancedb(tmp_path: Path) -> None:
    connection = lancedb.connect(tmp_path)
    LanceDB(connection=connection, embedding=EMBEDDING, table_name="x").add_documents(documents())
    embed = EMBEDDING.embed_query
    retriever = LanceDBRetriever(connection, "x", embed, fields="langchain")
    check(LanceDBChunkStore(connection, "x", fields="langchain"), retriever)


def test_llamaindex_in_lancedb(tmp_path: Path) -> None:
    LanceDBVectorStore(uri=str(tmp_path), table_name="x", mode="overwrite").add(nodes())
    connection = lancedb.connect(tmp_path)
    retriever = LanceDBRetriever(connection, "x", EMBEDDING.embed_query, fields="llamaindex")
    check(LanceDBChunkStore(connection, "x", fields="llamaindex"), retriever)
