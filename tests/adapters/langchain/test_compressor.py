"""LangChain's document compressor and document transformer, and one retriever that many ask at once."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("langchain_core")

try:
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
except ImportError:  # before 1.0 they were in langchain itself
    from langchain.retrievers import ContextualCompressionRetriever
    from langchain.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_community.document_transformers import LongContextReorder
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from retrivex.adapters.langchain import FieldMap, RetriVexCompressor, RetriVexReorder, RetriVexRetriever
from retrivex.errors import TokenizerError

pytestmark = pytest.mark.integration

CONFIG = RetrievalConfig(window=1, token_budget=400, scoring="weighted")


class Fixed(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents


def cut(doc_id: str, *texts: str, **metadata: Any) -> list[Document]:
    return [
        Document(text, metadata={"source": doc_id, "chunk_id": n, **metadata}, id=f"{doc_id}:{n}")
        for n, text in enumerate(texts)
    ]


BEES = cut("bees", "Bees live in hives.", "A hive has one queen.", "She lays all eggs.", "Drones do not work.")


def texts_of(documents: Sequence[Document]) -> list[str]:
    return [document.page_content for document in documents]


# ---- the compressor


def test_a_compression_retriever_returns_whole_passages() -> None:
    retriever = ContextualCompressionRetriever(
        base_retriever=Fixed(documents=[BEES[1]]), base_compressor=RetriVexCompressor(CONFIG, chunk_store=BEES)
    )
    expected = ["Bees live in hives. A hive has one queen. She lays all eggs."]
    assert texts_of(retriever.invoke("queen")) == expected
    assert texts_of(asyncio.run(retriever.ainvoke("queen"))) == expected


def test_a_document_that_ends_inside_a_sentence_comes_back_whole() -> None:
    text = "The warranty covers parts and labour. It lasts five years from"
    made = RetriVexCompressor().compress_documents([Document(text)], "How long does the warranty last?")
    assert [document.page_content for document in made] == [text]


def test_it_gives_what_the_retriever_gives() -> None:
    compressed = RetriVexCompressor(CONFIG, chunk_store=BEES).compress_documents(BEES[1:3], "queen")
    assert compressed == RetriVexRetriever(Fixed(documents=BEES[1:3]), CONFIG, chunk_store=BEES).invoke("queen")
    for document in compressed:
        assert json.loads(json.dumps(document.metadata, allow_nan=False)) == document.metadata
        assert document.id


def test_part_of_a_compressor_pipeline() -> None:
    pipeline = DocumentCompressorPipeline(
        transformers=[RetriVexCompressor(CONFIG, chunk_store=BEES, k=1), RetriVexReorder("score_desc")]
    )
    assert len(pipeline.compress_documents([BEES[0], BEES[3]], "queen")) == 1
    assert len(asyncio.run(pipeline.acompress_documents([BEES[0], BEES[3]], "queen"))) == 1


def test_limits_scope_and_fields_are_those_of_the_retriever() -> None:
    ours, theirs = cut("ours", "Our plan.", scope="us"), cut("theirs", "Their plan.", scope="them")
    found = [*ours, *theirs, *cut("open", "No plan.")]
    assert texts_of(RetriVexCompressor(CONFIG, scope="us").compress_documents(found, "plan")) == ["Our plan."]
    assert texts_of(RetriVexCompressor(CONFIG).compress_documents(found, "plan")) == ["No plan."]
    anyone = RetriVexCompressor(CONFIG, fields=FieldMap(scope=()), k=2)
    assert len(anyone.compress_documents(found, "plan")) == 2
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        RetriVexCompressor(CONFIG, k=0)
    with pytest.raises(ValueError, match="chunk_store is int"):
        RetriVexCompressor(CONFIG, chunk_store=7)
    with pytest.raises(ValueError, match="widnow"):
        RetriVexCompressor(CONFIG, widnow=3)


def test_a_reranker_scores_the_hits() -> None:
    options = RetrievalConfig(window=0, token_budget=8, max_spans=1, scoring="weighted", ordering_strategy="score_desc")

    shown = [
        RetriVexCompressor(options, **said).compress_documents(BEES, "Who?")
        for said in ({}, {"reranker": drones_first})
    ]
    assert [texts_of(documents) for documents in shown] == [["Bees live in hives."], ["Drones do not work."]]


def drones_first(query: str, texts: Sequence[str]) -> list[float]:
    return [float("Drones" in text) for text in texts]


@pytest.mark.parametrize("kind", [RetriVexCompressor, RetriVexRetriever])
def test_what_is_set_later_counts_or_is_refused(kind: Any) -> None:
    base = Fixed(documents=BEES)
    asked = kind(CONFIG) if kind is RetriVexCompressor else kind(base, CONFIG)

    def shown() -> list[str]:
        found = asked.compress_documents(BEES, "Who?") if kind is RetriVexCompressor else asked.invoke("Who?")
        return texts_of(found)

    assert len(shown()) == 1
    asked.config = RetrievalConfig(
        window=0, token_budget=8, max_spans=1, scoring="weighted", ordering_strategy="score_desc"
    )
    assert shown() == ["Bees live in hives."]
    asked.reranker = drones_first
    assert shown() == ["Drones do not work."]
    asked.config, asked.reranker, asked.k = CONFIG.override(token_budget=4000), None, 1
    asked.chunk_store = cut("bees", *texts_of(BEES), "They sleep in winter.")
    assert shown()[0].endswith("They sleep in winter.")
    for name, value in [
        ("k", 0), ("config", 5), ("fields", FieldMap()), ("chunk_store", 5), ("chunkstore", BEES), ("reranker", 5),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=name):
            setattr(asked, name, value)
    with pytest.raises(TokenizerError, match="no-such-tokenizer"):
        asked.config = RetrievalConfig(tokenizer="no-such-tokenizer")
    assert shown()[0].endswith("They sleep in winter.")
    with pytest.raises(ValueError, match="chunkstore"):
        kind(**({} if kind is RetriVexCompressor else {"base_retriever": base}), chunkstore=BEES)


def test_without_a_store_it_says_so() -> None:
    made = RetriVexCompressor(CONFIG).compress_documents([BEES[1]], "queen")
    assert texts_of(made) == ["A hive has one queen."]
    assert "no chunk store" in made[0].metadata["warnings"][0]
    assert RetriVexCompressor(CONFIG).compress_documents([], "queen") == []


def test_a_pickled_compressor_gives_the_same() -> None:
    compressor = RetriVexCompressor(CONFIG, chunk_store=BEES)
    first = compressor.compress_documents([BEES[1]], "queen")
    assert pickle.loads(pickle.dumps(compressor)).compress_documents([BEES[1]], "queen") == first


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: one.model_copy(deep=True)])
def test_a_copied_compressor_gives_the_same_and_is_its_own(copied: Callable[[Any], Any]) -> None:
    compressor = RetriVexCompressor(CONFIG, chunk_store=BEES)
    first = compressor.compress_documents([BEES[1]], "queen")
    again = copied(compressor)
    assert again.compress_documents([BEES[1]], "queen") == first
    again.config = CONFIG.override(window=0)
    assert texts_of(again.compress_documents([BEES[1]], "queen")) == ["A hive has one queen."]
    assert compressor.compress_documents([BEES[1]], "queen") == first


# ---- the transformer


def plain(n: int) -> list[Document]:
    return [Document(f"text {place}", metadata={"when": f"day {place}"}) for place in range(n)]


@pytest.mark.parametrize("n", range(7))
def test_best_at_both_edges(n: int) -> None:
    given = plain(n)
    made = RetriVexReorder().transform_documents(given)
    assert sorted(texts_of(made)) == sorted(texts_of(given))
    assert all(any(document is one for one in given) for document in made)
    assert texts_of(asyncio.run(RetriVexReorder().atransform_documents(given))) == texts_of(made)
    if n > 2:
        assert {made[0].page_content, made[-1].page_content} == {"text 0", "text 1"}
        # LangChain's own puts the best in front or at the end, as the number of documents is odd or even
        peer = texts_of(LongContextReorder().transform_documents(given))
        assert texts_of(made) == peer[::-1] if peer[0] != "text 0" else texts_of(made) == peer


def test_scores_count_where_all_have_one() -> None:
    given = plain(3)
    for document, score in zip(given, (0.1, 0.9, 0.5), strict=True):
        document.metadata["relevance_score"] = score
    assert texts_of(RetriVexReorder("score_desc").transform_documents(given)) == ["text 1", "text 2", "text 0"]
    del given[1].metadata["relevance_score"]
    assert texts_of(RetriVexReorder("score_desc").transform_documents(given)) == ["text 0", "text 1", "text 2"]


def test_documents_in_their_own_order() -> None:
    given = [BEES[2], cut("ants", "Ants dig.")[0], BEES[0]]
    made = RetriVexReorder("document").transform_documents(given)
    assert texts_of(made) == ["Bees live in hives.", "She lays all eggs.", "Ants dig."]
    pieces = [Document(t, metadata={"file": "a", "at": at}) for t, at in [("two", 9), ("one", 3)]]
    own = RetriVexReorder("document", FieldMap(doc_id="file", char_start="at"))
    assert texts_of(own.transform_documents(pieces)) == ["one", "two"]


def test_options_for_all_calls_and_for_one() -> None:
    reorder = RetriVexReorder(top_k=2)
    assert texts_of(reorder.transform_documents(plain(5))) == ["text 0", "text 1"]
    assert len(reorder.transform_documents(plain(5), top_k=4, query="what?")) == 4
    with pytest.raises(ValueError, match="stategy"):
        RetriVexReorder(stategy="document")
    with pytest.raises(ValueError, match="custom"):
        RetriVexReorder("custom")


def test_metadata_that_are_not_what_they_seem_are_no_reason_to_stop(caplog: pytest.LogCaptureFixture) -> None:
    given = [Document(f"text {n}", metadata={"timestamp": "in May", "source": "a"}) for n in range(3)]
    assert len(RetriVexReorder().transform_documents(given)) == 3
    assert any("timestamp" in record.message for record in caplog.records)


def test_the_order_of_what_the_retriever_returned_can_be_changed() -> None:
    found = [cut(f"doc{n}", f"Text number {n}.")[0] for n in range(5)]
    chain = RetriVexRetriever(Fixed(documents=found), CONFIG) | RunnableLambda(
        RetriVexReorder("score_desc").transform_documents
    )
    scores = [document.metadata["score"] for document in chain.invoke("text")]
    assert scores == sorted(scores, reverse=True)


# ---- many at once


TENANTS = ("acme", "zebra")


def of_tenants() -> list[Document]:
    pieces: list[Document] = []
    for name in TENANTS:
        for d in range(3):
            sentences = (f"{name} document {d} sentence {n} about topic {n % 3}." for n in range(6))
            pieces += cut(f"{name}-{d}", *sentences, scope=name)
    return pieces


def test_two_tenants_and_64_threads_and_tasks_on_one_retriever() -> None:
    pieces = of_tenants()
    # the base mixes tenants up, as a vector store without a filter does
    base = RunnableLambda(lambda question: [p for p in pieces if p.metadata["chunk_id"] % 3 == int(question[-1]) % 3])
    retriever = RetriVexRetriever(base, CONFIG, chunk_store=pieces)
    asked = [(f"topic {n % 3}", TENANTS[n % 2]) for n in range(64)]
    serial = [retriever.invoke(question, scope=scope) for question, scope in asked]
    with ThreadPoolExecutor(64) as pool:
        threads = list(pool.map(lambda ask: retriever.invoke(ask[0], scope=ask[1]), asked))

    async def all_at_once() -> list[list[Document]]:
        return await asyncio.gather(*(retriever.ainvoke(question, scope=scope) for question, scope in asked))

    assert threads == serial == asyncio.run(all_at_once())
    for documents, (_, scope) in zip(serial, asked, strict=True):
        assert documents
        assert all(scope in d.page_content and d.metadata["doc_id"].startswith(scope) for d in documents)
