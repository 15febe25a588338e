"""Haystack's document store in memory, and its retriever for neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from haystack import Document
from haystack.components.retrievers import SentenceWindowRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from retrivex.adapters.base.fields import colon_id
from retrivex.adapters.haystack import DocumentStoreChunkStore
from retrivex.model.chunk import Chunk

from .engine import RADIUS, Engine, Key, Meter, Way


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Fill a document store."""
    store = InMemoryDocumentStore()
    store.write_documents([_document(chunk) for chunk in chunks])
    yield Engine(f"haystack-ai {version('haystack-ai')}", _ways(store))


def _ways(store: InMemoryDocumentStore) -> Iterator[Way]:
    window = SentenceWindowRetriever(store, window_size=RADIUS)

    def sentence_windows(seeds: Sequence[Chunk]) -> set[Key]:
        found = window.run(retrieved_documents=[_document(chunk) for chunk in seeds])["context_documents"]
        return {(document.meta["source_id"], document.meta["split_id"]) for document in found}

    meter = Meter(store, "filter_documents")
    yield Way("filter", DocumentStoreChunkStore(store), meter, sentence_windows, "SentenceWindowRetriever")


def _document(chunk: Chunk) -> Document:
    doc_id, n = chunk.key
    return Document(
        id=colon_id(doc_id, n), content=chunk.text, meta={"source_id": doc_id, "split_id": n, "split_idx_start": 0}
    )
