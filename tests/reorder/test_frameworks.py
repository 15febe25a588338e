"""Documents of LangChain, LlamaIndex and Haystack go through as they are."""

from __future__ import annotations

import pytest

from retrivex import Reorderer

pytestmark = pytest.mark.integration

SCORES = (0.2, 0.9, 0.5)


def test_langchain_documents() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    given = [documents.Document("text", metadata={"score": score, "source_id": "a"}) for score in SCORES]
    assert Reorderer(fields="langchain").reorder(given) == [given[1], given[0], given[2]]
    without = [documents.Document(f"text {place}") for place in range(5)]
    ranked = Reorderer(fields={"id": None, "text": "page_content", "score": None}).reorder(without)
    assert ranked == [without[place] for place in (0, 2, 4, 3, 1)]
    noted = Reorderer(fields="langchain", include_explanation=True).reorder(given)
    assert [one.metadata["explanation"]["priority_rank"] for one in noted] == [0, 2, 1]
    assert "explanation" not in given[0].metadata


def test_langchain_documents_with_their_scores() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    given = [(documents.Document(f"text {score}", metadata={"source_id": "a"}), score) for score in SCORES]
    assert Reorderer(fields="langchain").reorder(given) == [given[1], given[0], given[2]]


def test_llamaindex_nodes() -> None:
    schema = pytest.importorskip("llama_index.core.schema")
    given = [
        schema.NodeWithScore(node=schema.TextNode(text=f"text {score}", metadata={"timestamp": score}), score=score)
        for score in SCORES
    ]
    assert Reorderer(fields="llamaindex").reorder(given) == [given[1], given[0], given[2]]
    assert Reorderer(fields="llamaindex", strategy="chronological").reorder(given) == [given[0], given[2], given[1]]


def test_haystack_documents() -> None:
    haystack = pytest.importorskip("haystack")
    given = [haystack.Document(content=f"text {score}", score=score, meta={"page": 1}) for score in SCORES]
    assert Reorderer(fields="haystack").reorder(given) == [given[1], given[0], given[2]]
