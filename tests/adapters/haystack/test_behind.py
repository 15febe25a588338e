"""Haystack: neighbours are found behind the retriever, where no store is named."""

import asyncio
import logging
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("haystack", reason="needs haystack-ai")

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from support.haystack_world import BEES, Found, contents, filled

from retrivex.adapters.haystack import RetriVexRetriever

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


@pytest.mark.parametrize("documents", [[Document(content="A hive has one queen.")], []])
def test_hits_without_numbers_and_no_store_are_warned_of(documents: list[Document]) -> None:
    bases: list[Any] = [InMemoryBM25Retriever(filled(documents)), Found(documents)]
    for base in bases:
        made = RetriVexRetriever(base, CONFIG).run("queen")
        assert contents(made) == [document.content for document in documents]
        assert made["warnings"][0].endswith("pass document_store")


def test_a_saved_retriever_finds_the_store_again() -> None:
    saved = RetriVexRetriever(InMemoryBM25Retriever(filled(BEES)), CONFIG).to_dict()
    assert saved["init_parameters"]["document_store"] is None
    assert saved["init_parameters"]["retriever"]["init_parameters"]["document_store"] is not None
