"""LangChain: neighbours are found behind the retriever, where no chunk store is named."""

import asyncio
import copy
import logging
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("langchain_core")

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_qdrant import QdrantVectorStore
from support.langchain_world import BEES, QUESTION, ROOMY, Bags, Fixed, cut

from retrivex.adapters.langchain import RetriVexRetriever

pytestmark = pytest.mark.integration

CONFIG = RetrievalConfig(window=1, token_budget=400, tokenizer="estimate")


def shown(retriever: RetriVexRetriever, question: str = "queen") -> list[str]:
    return [document.page_content for document in retriever.invoke(question)]


def stored(kind: str, pieces: list[Document]) -> VectorStore:
    if kind == "memory":
        return InMemoryVectorStore.from_documents(pieces, Bags())
    if kind == "faiss":
        return FAISS.from_documents(pieces, Bags())
    return QdrantVectorStore.from_documents(pieces, Bags(), location=":memory:", collection_name="bees")


@pytest.mark.parametrize("kind", ["memory", "faiss", "qdrant"])
def test_two_arguments_find_the_neighbours_in_the_vector_store(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    pieces = [document.model_copy(update={"id": None}) for document in BEES]
    base = stored(kind, pieces).as_retriever()
    with caplog.at_level(logging.INFO, "retrivex.adapters"):
        retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "found behind the base retriever" in caplog.text
    made = retriever.invoke("one queen")
    assert [document.metadata["chunk_ids"] for document in made] == [[0, 1, 2]]
    assert "warnings" not in made[0].metadata
    assert asyncio.run(retriever.ainvoke("one queen")) == made
    assert retriever.compose("one queen").warnings == ()


@pytest.mark.parametrize("kind", ["memory", "faiss"])
def test_pieces_in_this_process_need_no_numbers(kind: str, pieces: list[Document]) -> None:
    plain = [Document(piece.page_content, metadata={"source": "wiki.md"}) for piece in pieces]
    base = stored(kind, plain).as_retriever()
    found, given = RetriVexRetriever(base, ROOMY), RetriVexRetriever(base, ROOMY, chunk_store=plain)
    assert shown(found, QUESTION) == shown(given, QUESTION)
    assert any(len(document.metadata["chunk_ids"]) > 1 for document in found.invoke(QUESTION))


def test_pieces_that_change_are_numbered_anew() -> None:
    vectors = InMemoryVectorStore.from_documents(BEES[:2], Bags())
    retriever = RetriVexRetriever(vectors.as_retriever(), CONFIG, fetch_k=1)
    assert shown(retriever) == ["Bees live in hives. A hive has one queen."]
    vectors.add_documents(BEES[2:])
    assert shown(retriever) == ["Bees live in hives. A hive has one queen. She lays all eggs."]
    vectors.add_documents(cut("bees", "Bees live in trees."))  # in the place of the first
    assert shown(retriever) == ["Bees live in trees. A hive has one queen. She lays all eggs."]


def around(kind: str) -> RetrieverLike:
    words = BM25Retriever.from_documents(BEES, k=1, preprocess_func=lambda text: text.strip(".").split())
    if kind == "words":
        return words
    if kind == "ensemble":
        return EnsembleRetriever(retrievers=[Fixed(documents=[]), words])
    return ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(transformers=[]), base_retriever=words
    )


@pytest.mark.parametrize("kind", ["words", "ensemble", "compressed"])
def test_retrievers_by_words_and_around_others_are_looked_into(kind: str) -> None:
    assert shown(RetriVexRetriever(around(kind), CONFIG, fetch_k=1)) == [
        "Bees live in hives. A hive has one queen. She lays all eggs."
    ]


def test_a_retriever_that_filters_is_left_alone() -> None:
    only = {"k": 1, "filter": lambda document: "queen" in document.page_content}
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever(search_kwargs=only)
    made = RetriVexRetriever(base, CONFIG).compose("queen")
    assert made.warnings[0].startswith("no chunk store: hits cannot grow")
    assert all(len(span.chunks) == 1 for span in made.spans)


def test_what_another_tenant_has_is_not_found() -> None:
    pieces = [
        *cut("bees", "Bees live in hives.", "A hive has one queen.", scope="a"),
        *cut("bees", "x", "y", scope="b"),
    ]
    pieces = [piece.model_copy(update={"id": None}) for piece in pieces]
    base = stored("qdrant", pieces).as_retriever()
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1, scope="a")
    assert shown(retriever, "one queen") == ["Bees live in hives. A hive has one queen."]
    held = RetriVexRetriever(stored("memory", pieces).as_retriever(), CONFIG, fetch_k=1, scope="a")
    made = held.compose("one queen")  # two pieces with one number: what cannot be told apart gives no neighbours
    assert [span.text for span in made.spans] == ["A hive has one queen."]
    assert made.warnings[0].startswith("no chunk store")


def test_hits_without_numbers_are_merged_where_they_touch_as_before() -> None:
    pieces = [
        Document(text, metadata={"source": "b", "start_index": n}) for text, n in [("Bees live ", 0), ("here.", 10)]
    ]
    made = RetriVexRetriever(stored("qdrant", pieces).as_retriever(), CONFIG).compose("bees")
    assert [span.text for span in made.spans] == ["Bees live here."]
    assert made.warnings[0].startswith("no chunk store")


def test_copies_look_anew_and_another_base_is_looked_into() -> None:
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever()
    retriever = RetriVexRetriever(base, CONFIG, fetch_k=1)
    before = shown(retriever)
    assert shown(copy.deepcopy(retriever)) == before
    assert shown(pickle.loads(pickle.dumps(retriever))) == before
    retriever.base_retriever = Fixed(documents=BEES[1:2])
    assert shown(retriever) == ["A hive has one queen."]
    retriever.chunk_store = BEES
    assert shown(retriever) == before


def test_a_named_chunk_store_goes_first() -> None:
    base = InMemoryVectorStore.from_documents(BEES, Bags()).as_retriever()
    assert shown(RetriVexRetriever(base, CONFIG, chunk_store=BEES[1:], fetch_k=1)) == [
        "A hive has one queen. She lays all eggs."
    ]


class Elsewhere(VectorStore):
    """A store whose pieces lie on a server, which can be asked by id."""

    def __init__(self, pieces: list[Document]) -> None:
        self._inside = InMemoryVectorStore.from_documents(pieces, Bags())

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self._inside.similarity_search(query, k)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self._inside.get_by_ids(ids)

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> "Elsewhere":
        raise NotImplementedError


@pytest.mark.parametrize(("id_of", "chunk_ids"), [("bees:{}", [0, 1, 2]), ("other-{}", [1])])
def test_ids_of_document_and_number_are_asked_for(id_of: str, chunk_ids: list[int]) -> None:
    pieces = [piece.model_copy(update={"id": id_of.format(n)}) for n, piece in enumerate(BEES)]
    made = RetriVexRetriever(Elsewhere(pieces).as_retriever(), CONFIG, fetch_k=1).compose("one queen")
    assert made.spans[0].chunk_ids == chunk_ids
    assert bool(made.warnings) == (chunk_ids == [1])
