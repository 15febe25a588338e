"""Haystack: neighbours are found behind the retriever, where no store is named."""

import asyncio
import logging
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("haystack", reason="needs haystack-ai")

from haystack import Document, component
from haystack.components.preprocessors import HierarchicalDocumentSplitter
from haystack.components.retrievers import AutoMergingRetriever, TextEmbeddingRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from support.haystack_world import BEES, Found, contents, filled

from retrivex.adapters.haystack import RetriVexRanker, RetriVexRetriever, chunk_store_from_documents

pytestmark = pytest.mark.integration

CONFIG = RetrievalConfig(window=1, token_budget=400, tokenizer="estimate", scoring="weighted")
GROWN = ["Bees live in hives. A hive has one queen. She lays all eggs."]
EVERYTHING = {"field": "meta.split_id", "operator": ">=", "value": 0}


def test_two_arguments_find_the_document_store(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "retrivex.adapters"):
        retriever = RetriVexRetriever(InMemoryBM25Retriever(filled(BEES)), CONFIG, fetch_k=1)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "neighbours come from Counted, found behind the base retriever" in caplog.text
    made = retriever.run("queen")
    assert contents(made) == GROWN
    assert made["warnings"] == []
    assert contents(asyncio.run(retriever.run_async("queen"))) == GROWN
    assert [span.text for span in retriever.compose("queen").spans] == GROWN


def test_what_is_filtered_is_left_alone() -> None:
    store = filled(BEES)
    once = RetriVexRetriever(InMemoryBM25Retriever(store), CONFIG, fetch_k=1)
    always = RetriVexRetriever(InMemoryBM25Retriever(store, filters=EVERYTHING), CONFIG, fetch_k=1)
    for made in (once.run("queen", filters=EVERYTHING), always.run("queen")):
        assert contents(made) == ["A hive has one queen."]
        assert made["warnings"][0].endswith("pass document_store")
    named = RetriVexRetriever(InMemoryBM25Retriever(store), CONFIG, fetch_k=1, document_store=store)
    assert contents(named.run("queen", filters=EVERYTHING)) == GROWN


def test_filters_that_are_set_later_count_and_other_kinds_are_left_alone() -> None:
    base = InMemoryBM25Retriever(filled(BEES))
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    assert contents(retriever.run("queen")) == GROWN
    base.filters = EVERYTHING
    assert contents(retriever.run("queen")) == ["A hive has one queen."]

    class Own(InMemoryBM25Retriever):
        """Keeps results back in a way of its own."""

    assert contents(RetriVexRetriever(Own(filled(BEES)), CONFIG, fetch_k=1).run("queen")) == ["A hive has one queen."]


@component
class Embedder:
    """Knows queens."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": [1.0, 0.0]}


def test_a_retriever_with_its_embedder_is_looked_into() -> None:
    known = [
        Document(id=piece.id, content=piece.content, meta=piece.meta, embedding=[float("queen" in piece.content), 0.1])
        for piece in BEES
        if piece.content
    ]
    inside = InMemoryEmbeddingRetriever(filled(known))
    retriever = RetriVexRetriever(TextEmbeddingRetriever(retriever=inside, text_embedder=Embedder()), CONFIG, fetch_k=1)
    assert contents(retriever.run("queen")) == GROWN
    inside.filters = EVERYTHING
    assert contents(retriever.run("queen")) == ["A hive has one queen."]


def test_a_query_of_ones_own_may_filter() -> None:
    base = InMemoryBM25Retriever(filled(BEES))
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    base._custom_query = {"bool": {"filter": []}}  # as retrievers of Elasticsearch and OpenSearch keep it
    assert contents(retriever.run("queen")) == ["A hive has one queen."]


def test_behind_auto_merging_leaves_grow_inside_their_parent_and_parents_stay() -> None:
    text = "Bees live in hives. A hive has one queen. She lays all eggs. Drones do not work. They leave. Wasps do not."
    splitter = HierarchicalDocumentSplitter(block_sizes={12, 4}, split_overlap=0, split_by="word")
    documents = splitter.run([Document(content=text)])["documents"]
    leaves = [document for document in documents if not document.meta["__children_ids"]]
    store = filled(documents)
    found = AutoMergingRetriever(store, threshold=0.5).run([*leaves[:2], leaves[4]])["documents"]
    assert sorted(len(document.meta["__children_ids"]) for document in found) == [0, 3]
    made = RetriVexRanker(CONFIG, document_store=store).run("queen", found)
    shown = " ".join(contents(made))
    assert "one queen. She" in shown
    assert all(shown.count(word) == 1 for word in ("live", "queen.", "lays"))


@pytest.mark.parametrize("documents", [[Document(content="A hive has one queen.")], []])
def test_hits_without_numbers_and_no_store_are_warned_of(documents: list[Document]) -> None:
    bases: list[Any] = [InMemoryBM25Retriever(filled(documents)), Found(documents)]
    for base in bases:
        made = RetriVexRetriever(base, CONFIG).run("queen")
        assert contents(made) == [document.content for document in documents]
        assert made["warnings"][0].endswith("pass document_store")


def test_pieces_with_nothing_but_a_source_have_it_as_their_document() -> None:
    pieces = [Document(content=f"Queen {n} of the hive.", meta={"source": f"{n % 2}.md"}) for n in range(4)]
    made = RetriVexRetriever(InMemoryBM25Retriever(filled(pieces)), CONFIG)
    assert {document.meta["doc_id"] for document in made.run("queen")["documents"]} == {"0.md", "1.md"}
    assert {citation.doc_id for citation in made.compose("queen").citations} == {"0.md", "1.md"}
    store = chunk_store_from_documents(pieces)
    assert set(store) == {("0.md", 0), ("0.md", 1), ("1.md", 0), ("1.md", 1)}
    given = [Document(content=piece.content, meta={**piece.meta, "source_id": "bees"}) for piece in pieces]
    assert {doc_id for doc_id, _ in chunk_store_from_documents(given)} == {"bees"}


def test_a_saved_retriever_finds_the_store_again() -> None:
    saved = RetriVexRetriever(InMemoryBM25Retriever(filled(BEES)), CONFIG).to_dict()
    assert saved["init_parameters"]["document_store"] is None
    assert saved["init_parameters"]["retriever"]["init_parameters"]["document_store"] is not None
