"""LlamaIndex: neighbours are found behind the retriever, where no store is named."""

import asyncio
import logging
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("llama_index.core", reason="needs llama-index-core", exc_type=ImportError)

from llama_index.core import Document, MockEmbedding, StorageContext, SummaryIndex, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    get_leaf_nodes,
)
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import BaseNode, IndexNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from support.llamaindex_world import Fixed

from retrivex.adapters.llamaindex import RetriVexRetriever

pytestmark = pytest.mark.integration

TEXT = " ".join(f"Sentence {n} says what bees do in hour {n} of the day." for n in range(12))
CONFIG = RetrievalConfig(window=1, token_budget=400, tokenizer="estimate")
NODES = SentenceSplitter(chunk_size=30, chunk_overlap=0).get_nodes_from_documents([Document(text=TEXT, doc_id="bees")])
EMBED = MockEmbedding(3)


def index_of(kind: str) -> Any:
    if kind == "docstore":
        return VectorStoreIndex(NODES, embed_model=EMBED)
    if kind == "summary":
        return SummaryIndex(NODES)
    vectors = QdrantVectorStore("bees", client=QdrantClient(":memory:"))
    return VectorStoreIndex(
        NODES, embed_model=EMBED, storage_context=StorageContext.from_defaults(vector_store=vectors)
    )


@pytest.mark.parametrize("kind", ["docstore", "vector store", "summary"])
def test_two_arguments_find_the_neighbours_of_the_index(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    options = {} if kind == "summary" else {"similarity_top_k": 1}
    base = index_of(kind).as_retriever(**options)
    with caplog.at_level(logging.INFO, "retrivex.adapters"):
        retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "found behind the base retriever" in caplog.text
    found = base.retrieve("hour")
    made = retriever.retrieve("hour")
    assert sum(len(node.node.text) for node in made) > len(found[0].node.text)
    assert all(node.node.text in TEXT for node in made)
    assert "warnings" not in made[0].node.metadata
    if kind != "vector store":  # Qdrant's local client cannot be awaited
        assert [node.node.text for node in asyncio.run(retriever.aretrieve("hour"))] == [n.node.text for n in made]


def test_a_retriever_around_others_is_looked_into() -> None:
    base = index_of("docstore").as_retriever(similarity_top_k=1)
    fused = QueryFusionRetriever([base], llm=MockLLM(), num_queries=1, similarity_top_k=1)
    grown = RetriVexRetriever(fused, CONFIG, fetch_k=1).retrieve("hour")
    assert len(grown[0].node.text) > len(base.retrieve("hour")[0].node.text)


def test_words_beside_vectors_are_looked_past() -> None:
    """The retriever by words is another package's: it has no index, and a mask where it filters."""
    fixed = type("BM25Retriever", (Fixed,), {"__module__": "llama_index.retrievers.bm25", "corpus_weight_mask": None})
    words, vectors = fixed([(NODES[1], 0.9)]), index_of("docstore").as_retriever(similarity_top_k=1)
    both = QueryFusionRetriever([vectors, words], llm=MockLLM(), num_queries=1, similarity_top_k=2)
    made = RetriVexRetriever(both, CONFIG, fetch_k=1).compose("hour")
    assert made.warnings == ()
    assert max(len(span.chunks) for span in made.spans) > 1
    words.corpus_weight_mask = [0, 1]
    assert RetriVexRetriever(both, CONFIG, fetch_k=1).compose("hour").warnings[0].startswith("no chunk store")
    assert RetriVexRetriever(words, CONFIG).compose("hour").warnings[0].startswith("no chunk store")


def test_citations_name_the_document_of_nodes_that_have_links_and_no_numbers() -> None:
    base = index_of("docstore").as_retriever(similarity_top_k=2)
    made = RetriVexRetriever(base, CONFIG, fetch_k=2).compose("hour")
    assert len(made.citations) > 1
    assert {citation.doc_id for citation in made.citations} == {"bees"}
    assert {citation.doc_id for citation in made.resolve("[1]")} == {"bees"}
    assert all(TEXT[one.char_start : one.char_end] == made.text[one.start : one.end] for one in made.citations)


def test_sentences_of_a_window_parser_grow_by_their_links() -> None:
    nodes = SentenceWindowNodeParser(window_size=2).get_nodes_from_documents([Document(text=TEXT, doc_id="bees")])
    base = VectorStoreIndex(nodes, embed_model=EMBED).as_retriever(similarity_top_k=1)
    [made] = RetriVexRetriever(base, CONFIG, fetch_k=1).retrieve("hour")
    assert made.node.text in TEXT
    assert len(made.node.metadata["source_ids"]) in (2, 3)
    assert "warnings" not in made.node.metadata


LONG = Document(
    text=" ".join(f"Sentence {n} says what bees do in hour {n} of the day." for n in range(24)), doc_id="bees"
)


def hierarchy(kind: str = "docstore") -> tuple[list[BaseNode], VectorStoreIndex]:
    """Nodes of three levels, all in the docstore, with the leaves alone in the index."""
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[120, 60, 20], chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([LONG])
    store = {} if kind == "docstore" else {"vector_store": QdrantVectorStore("bees", client=QdrantClient(":memory:"))}
    storage = StorageContext.from_defaults(**store)
    storage.docstore.add_documents(nodes)
    return nodes, VectorStoreIndex(get_leaf_nodes(nodes), embed_model=EMBED, storage_context=storage)


def merging(index: VectorStoreIndex, hits: int, share: float, **options: Any) -> AutoMergingRetriever:
    leaves = index.as_retriever(similarity_top_k=hits, **options)
    return AutoMergingRetriever(leaves, index.storage_context, simple_ratio_thresh=share)


@pytest.mark.parametrize("kind", ["docstore", "vector store"])
def test_leaves_that_are_not_merged_grow_inside_their_parent(kind: str) -> None:
    nodes, index = hierarchy(kind)
    base = merging(index, 1, 0.9)
    [found] = base.retrieve("hour")
    [made] = RetriVexRetriever(base, CONFIG).retrieve("hour")
    parent = next(node for node in nodes if node.node_id == found.node.parent_node.node_id)
    children = [child.node_id for child in parent.child_nodes]
    shown = made.node.metadata["source_ids"]  # of equal leaves another one is found in each run, by its random id
    assert found.node.node_id in shown
    assert shown == children[children.index(shown[0]) :][: len(shown)]
    assert made.node.text in parent.get_content()
    assert "warnings" not in made.node.metadata


def test_a_hit_that_is_a_parent_stays_as_it_is_and_nothing_is_repeated() -> None:
    nodes, index = hierarchy()
    merged = merging(index, 12, 0.3)
    assert any(hit.node.child_nodes for hit in merged.retrieve("hour"))
    by_id = {node.node_id: node for node in nodes}
    first, second, *_ = (by_id[child.node_id] for child in nodes[0].child_nodes or [])
    leaf = by_id[(second.child_nodes or [])[0].node_id]
    beside = Fixed([(first, 0.9), (leaf, 0.8)])  # a part of its nephew is a hit, too
    for base, more in ((merged, {}), (beside, {"docstore": index.docstore})):
        made = RetriVexRetriever(base, CONFIG.override(window=3), **more).retrieve("hour")
        text = " ".join(hit.node.text for hit in made)
        shown = [n for n in range(24) if f"Sentence {n} " in text]
        assert len(shown) > 4
        assert all(text.count(f"Sentence {n} ") == 1 for n in shown)


def test_the_parents_of_a_vector_store_without_them_are_not_missed() -> None:
    _, index = hierarchy("vector store")
    base = index.as_retriever(similarity_top_k=1)
    [made] = RetriVexRetriever(base, CONFIG, fetch_k=1).retrieve("hour")
    assert "warnings" not in made.node.metadata


ONLY = MetadataFilters(filters=[MetadataFilter(key="tenant", value="a")])


class Own(VectorIndexRetriever):
    """Keeps results back in a way of its own."""


class OwnMerging(AutoMergingRetriever):
    """Keeps results back in a way of its own."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: index_of("docstore").as_retriever(filters=ONLY),
        lambda: VectorIndexRetriever(index_of("docstore"), node_ids=[NODES[0].node_id]),
        lambda: index_of("docstore").as_retriever(vector_store_kwargs={"where": {"tenant": "a"}}),
        lambda: QueryFusionRetriever([index_of("docstore").as_retriever(filters=ONLY)], llm=MockLLM(), num_queries=1),
        lambda: Own(index_of("docstore")),
        lambda: merging(hierarchy()[1], 1, 0.9, filters=ONLY),
        lambda: OwnMerging(index_of("docstore").as_retriever(), StorageContext.from_defaults()),
        lambda: Fixed([(NODES[1], 0.9)]),
    ],
)
def test_a_retriever_that_may_keep_nodes_back_is_left_alone(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "retrivex.adapters"):
        RetriVexRetriever(make(), CONFIG)
    assert "no chunk store: hits cannot grow" in caplog.text


def test_a_filter_that_is_set_later_counts() -> None:
    base = index_of("docstore").as_retriever(similarity_top_k=1)
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    before = retriever.compose("hour")
    base._doc_ids = ["bees"]
    after = retriever.compose("hour")
    assert len(after.spans[0].chunks) == 1 < len(before.spans[0].chunks)
    assert after.warnings[0].startswith("no chunk store")


def test_a_hit_on_a_summary_shows_the_node_it_refers_to() -> None:
    summaries = [IndexNode(text=f"About hour {n}.", index_id=node.node_id, obj=node) for n, node in enumerate(NODES)]
    index = VectorStoreIndex(objects=summaries, embed_model=EMBED)
    made = RetriVexRetriever(index.as_retriever(similarity_top_k=1), CONFIG, NODES, fetch_k=1).retrieve("hour")
    shown = " ".join(node.node.text for node in made)
    assert "About hour" not in shown
    assert any(node.text in shown for node in NODES)
    assert sum(node.text in shown for node in NODES) > 1
