"""Chunk stores over what LlamaIndex users have: docstores, and vector stores by ids and by filters."""

from __future__ import annotations

import asyncio
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from retrivex import Chunk, RetrievalConfig
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks

pytest.importorskip("llama_index.core", reason="needs llama-index-core", exc_type=ImportError)

from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from retrivex.adapters.base.fields import FieldMap, MakeId
from retrivex.adapters.llamaindex import (
    DocstoreChunkStore,
    DocstoreParentStore,
    RetriVexRetriever,
    VectorStoreChunkStore,
    colon_id,
    uuid5_id,
)

pytestmark = pytest.mark.integration

TEXT = " ".join(f"Sentence {n} says that bees like flower number {n}, and nothing else." for n in range(80))


def node_of(chunk: Chunk, make_id: MakeId = colon_id) -> TextNode:
    payload = FieldMap(doc_id=(), char_start=(), char_end=()).payload(chunk)
    return TextNode(
        id_=make_id(*chunk.key),
        text=payload.pop("text"),
        metadata=payload,
        embedding=None if chunk.embedding is None else [float(x) for x in chunk.embedding],
        start_char_idx=chunk.metadata.char_start,
        end_char_idx=chunk.metadata.char_end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.metadata.doc_id)},
    )


class Nodes(BasePydanticVectorStore):
    """A vector store as those that keep texts: records of JSON types, asked by ids or filters."""

    stores_text: bool = True
    nodes: list[Any] = []  # noqa: RUF012 - a pydantic field
    requests: int = 0
    error: Any = None

    @property
    def client(self) -> Any:
        return None

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        self.nodes = [*self.nodes, *nodes]
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        raise NotImplementedError

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        raise NotImplementedError

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        self.requests += 1
        if self.error is not None:
            time.sleep(0.15)  # as a client waits before it gives up
            raise self.error
        if node_ids is not None:
            return [node for node in self.nodes if node.node_id in set(node_ids)]
        known = [(node, node_to_metadata_dict(node, flat_metadata=False)) for node in self.nodes]
        return [node for node, metadata in known if _matches(metadata, filters)]


class AsyncNodes(Nodes):
    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)


def _matches(metadata: dict[str, Any], given: MetadataFilters | MetadataFilter | None) -> bool:
    """Whether a record is what a filter asks for; a field that is not there is not what any asks for."""
    if isinstance(given, MetadataFilters):
        found = (_matches(metadata, inner) for inner in given.filters)  # type: ignore[arg-type]
        return any(found) if given.condition == FilterCondition.OR else all(found)
    assert isinstance(given, MetadataFilter)
    value = metadata.get(given.key)
    return value is not None and OPERATORS[given.operator](value, given.value)


OPERATORS: dict[FilterOperator, Callable[[Any, Any], bool]] = {
    FilterOperator.EQ: operator.eq,
    FilterOperator.GTE: operator.ge,
    FilterOperator.LTE: operator.le,
    FilterOperator.IN: lambda value, given: value in given,
}


class Docs(SimpleDocumentStore):
    requests = 0
    error: Exception | None = None

    def get_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
        self.requests += 1
        if self.error is not None:
            time.sleep(0.15)  # as a client waits before it gives up
            raise self.error
        return super().get_nodes(node_ids, raise_error)

    async def aget_nodes(self, node_ids: list[str], raise_error: bool = True) -> list[BaseNode]:
        return await asyncio.to_thread(self.get_nodes, node_ids, raise_error)


def docs(error: Exception | None = None) -> Docs:
    store = Docs()
    store.error = error
    return store


class TestDocstore(ChunkStoreContract):
    holds_duplicates = False
    most_in_a_request = 1000

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        docstore = docs()
        docstore.add_documents([node_of(chunk, uuid5_id) for chunk in chunks])
        return StoreUnderTest(DocstoreChunkStore(docstore, uuid5_id), lambda: docstore.requests)

    def make_down(self) -> DocstoreChunkStore:
        return DocstoreChunkStore(docs(ConnectionRefusedError("nobody listens")), retries=0)

    def make_hanging(self) -> DocstoreChunkStore:
        return DocstoreChunkStore(docs(TimeoutError("too late")))


class TestVectorStoreByIds(ChunkStoreContract):
    most_in_a_request = 1000

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        vectors = AsyncNodes(nodes=[node_of(chunk) for chunk in chunks])
        return StoreUnderTest(VectorStoreChunkStore(vectors, colon_id), lambda: vectors.requests)

    def make_down(self) -> VectorStoreChunkStore:
        return VectorStoreChunkStore(AsyncNodes(error=OSError("no route")), colon_id, retries=0)

    def make_hanging(self) -> VectorStoreChunkStore:
        return VectorStoreChunkStore(AsyncNodes(error=TimeoutError("too late")), colon_id)


class TestVectorStoreByFilters(ChunkStoreContract):
    most_in_a_request = 1000

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        vectors = Nodes(nodes=[node_of(chunk) for chunk in chunks])
        return StoreUnderTest(VectorStoreChunkStore(vectors), lambda: vectors.requests)

    def make_down(self) -> VectorStoreChunkStore:
        return VectorStoreChunkStore(Nodes(error=OSError("no route")), retries=0)

    def make_hanging(self) -> VectorStoreChunkStore:
        return VectorStoreChunkStore(Nodes(error=TimeoutError("too late")))


def test_a_scope_under_any_of_its_names_is_found() -> None:
    known = {"source": "bees.md", "chunk_id": 0, "scope": "acme"}
    nodes = [TextNode(text="text", metadata=known)]
    names = FieldMap(doc_id="source", scope=("tenant", "scope"))
    chunks = VectorStoreChunkStore(Nodes(nodes=nodes), fields=names)
    assert [chunk.metadata.scope for chunk in chunks.fetch([Window("bees.md", 0, 1)], "acme")] == ["acme"]
    assert chunks.fetch([Window("bees.md", 0, 1)], "zebra") == []


@pytest.mark.parametrize("by", ["ids", "filters"])
def test_a_real_vector_store(by: str) -> None:
    qdrant = pytest.importorskip("llama_index.vector_stores.qdrant", exc_type=ImportError)
    client = pytest.importorskip("qdrant_client")
    vectors = qdrant.QdrantVectorStore("chunks", client=client.QdrantClient(":memory:"))
    chunks = contract_chunks(3, 6) + contract_chunks(2, 6, scope="acme", prefix="acme")
    nodes = [node_of(chunk, uuid5_id) for chunk in chunks]
    for node, chunk in zip(nodes, chunks, strict=True):
        node.embedding = [float(x) for x in chunk.embedding]  # type: ignore[union-attr]
    vectors.add(nodes)
    store = VectorStoreChunkStore(vectors, uuid5_id if by == "ids" else None)
    windows = [Window("doc-0", 2, 5), Window("doc-2", 4, 9), Window("acme-1", 0, 2)]
    open_ones = {("doc-0", 2), ("doc-0", 3), ("doc-0", 4), ("doc-2", 4), ("doc-2", 5)}
    assert {chunk.key for chunk in store.fetch(windows)} == open_ones
    assert {chunk.key for chunk in store.fetch(windows, "acme")} == {("acme-1", 0), ("acme-1", 1)}
    expected = {chunk.key: chunk.text for chunk in chunks}
    found = list(store.fetch(windows, ["acme", None]))
    assert {chunk.key for chunk in found} == open_ones | {("acme-1", 0), ("acme-1", 1)}
    assert all(chunk.text == expected[chunk.key] for chunk in found)


def test_what_has_no_nodes_is_refused_at_once() -> None:
    for wrong in (SimpleVectorStore(), Nodes(stores_text=False)):
        with pytest.raises(StoreError, match="keeps no texts, or has no get_nodes"):
            VectorStoreChunkStore(wrong)
        with pytest.raises(StoreError, match="keeps no texts, or has no get_nodes"):
            RetriVexRetriever(Found([]), vector_store=wrong)
    with pytest.raises(StoreError, match="dict is no docstore and no vector store"):
        VectorStoreChunkStore({})  # type: ignore[arg-type]
    for store in (DocstoreChunkStore, DocstoreParentStore):
        with pytest.raises(StoreError, match="docstore is Nodes"):
            store(Nodes())  # type: ignore[arg-type]


# ---- in the retriever


class Found(BaseRetriever):
    def __init__(self, nodes: Sequence[BaseNode]) -> None:
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=node, score=0.9 - 0.1 * rank) for rank, node in enumerate(self.nodes)]


CONFIG = RetrievalConfig(window=2, token_budget=4000, scoring="weighted")


def split() -> list[BaseNode]:
    return SentenceSplitter(chunk_size=60, chunk_overlap=0).get_nodes_from_documents(
        [Document(text=TEXT, doc_id="bees")]
    )


@pytest.mark.parametrize("kind", [Nodes, AsyncNodes])
def test_links_are_followed_through_a_vector_store(kind: type[Nodes]) -> None:
    nodes = split()
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    vectors = kind(nodes=nodes)
    expected = RetriVexRetriever(Found([nodes[5]]), CONFIG, docstore=docstore).retrieve("flower")
    retriever = RetriVexRetriever(Found([nodes[5]]), CONFIG, vector_store=vectors)
    made = retriever.retrieve("flower")
    assert made == expected
    assert made[0].node.metadata["source_ids"] == [node.node_id for node in nodes[3:8]]
    assert vectors.requests == 2  # one for every step outwards
    assert asyncio.run(retriever.aretrieve("flower")) == expected


def test_parents_come_from_the_docstore_and_a_missing_one_is_no_error() -> None:
    # LlamaIndex's AutoMergingRetriever raises where a parent is not in the docstore (seen in 0.14.25)
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[150, 40], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([Document(text=TEXT, doc_id="bees")])
    leaves = get_leaf_nodes(nodes)
    parent = next(node for node in nodes if node.node_id == leaves[0].parent_node.node_id)  # type: ignore[union-attr]
    family = [leaf for leaf in leaves if leaf.parent_node.node_id == parent.node_id]  # type: ignore[union-attr]
    config = CONFIG.override(window=0, return_parents="auto")
    for known, expected in ((nodes, parent.get_content()), (leaves, None)):
        docstore = docs()
        docstore.add_documents(known)
        retriever = RetriVexRetriever(
            Found(family), config, chunk_store=leaves, parent_store=DocstoreParentStore(docstore)
        )
        made = retriever.retrieve("flower")
        assert docstore.requests == 1
        assert len(made) == 1
        if expected is not None:
            assert "".join(made[0].text.split()) == "".join(expected.split())
        assert made[0].node.metadata["source_ids"] == [leaf.node_id for leaf in family]
        assert asyncio.run(retriever.aretrieve("flower")) == made


def test_a_parent_of_another_scope_is_not_shown() -> None:
    docstore = SimpleDocumentStore()
    docstore.add_documents([TextNode(id_="p", text="Secret.", metadata={"scope": "them"})])
    docstore.add_documents([TextNode(id_="q", text="Open.")])
    store = DocstoreParentStore(docstore)
    assert store.fetch_parents(["p", "q", "nowhere"]) == {"q": "Open."}
    assert store.fetch_parents(["p", "q"], "them") == {"p": "Secret."}
