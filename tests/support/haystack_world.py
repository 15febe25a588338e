"""Documents, document stores and retrievers of Haystack that its adapters are tested with."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from retrivex import RetrievalConfig

pytest.importorskip("haystack", reason="needs haystack-ai")

from haystack import Document, component
from haystack.components.preprocessors import DocumentSplitter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from retrivex.adapters.base.fields import colon_id

TEXT = " ".join(f"Sentence {n} says that bees like flower number {n}, and nothing else." for n in range(80))
QUESTION = "Which flower has number 17?"
CONFIG = RetrievalConfig(window=2, token_budget=300, scoring="weighted")


class Counted(InMemoryDocumentStore):
    """Counts what would be requests, and fails where it is told to."""

    def __init__(self, *args: Any, error: Exception | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.requests = 0
        self.error = error
        self.filters: Any = None

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        self.requests += 1
        self.filters = filters
        if self.error is not None:
            time.sleep(0.15)  # as a client waits before it gives up
            raise self.error
        return super().filter_documents(filters)


class Blocking:
    """A document store without async methods."""

    def __init__(self, store: InMemoryDocumentStore) -> None:
        self.filter_documents = store.filter_documents


def split(text: str = TEXT, by: str = "word", length: int = 12, overlap: int = 0, **meta: Any) -> list[Document]:
    splitter = DocumentSplitter(split_by=by, split_length=length, split_overlap=overlap)
    return splitter.run([Document(content=text, meta=meta)])["documents"]


def filled(documents: Sequence[Document]) -> Counted:
    store = Counted()
    store.write_documents(list(documents))
    return store


def cut(doc_id: str, *texts: str, **meta: Any) -> list[Document]:
    return [
        Document(content=text, meta={"source_id": doc_id, "split_id": n, **meta}, id=colon_id(doc_id, n))
        for n, text in enumerate(texts)
    ]


BEES = cut("bees", "Bees live in hives.", "A hive has one queen.", "She lays all eggs.", "Drones do not work.")


@component
class Found:
    """Returns what it was told to, as many as it is asked for."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10) -> dict[str, list[Document]]:
        return {"documents": self.documents[:top_k]}


def contents(outputs: dict[str, Any]) -> list[str]:
    return [document.content for document in outputs["documents"]]
