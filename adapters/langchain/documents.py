"""LangChain: converts Documents to passages and a chunk store, and spans to Documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.documents import Document

from retrivex.composition.composition import Composition
from retrivex.stores.protocol import AnyChunkStore

from ..base.documents import NumberedChunks, Passage, as_chunk_store, number_passages, read_passage
from ..base.fields import FieldMap
from ..base.hits import Placed
from ..base.results import log_warnings, no_store, span_id, span_metadata

ALONE = no_store(
    "chunk_store: the pieces that were indexed, or after a restart a store over the collection, whose chunks `retrivex "
    "backfill STORE ADDRESS COLLECTION --write` numbers"
)
"""Warning of a retriever without a place for neighbours."""

SCORE_KEY = "retrivex_score"
"""Beside the user's own metadata, on the way from a vector store to the composer."""


def chunk_store_from_documents(documents: Iterable[Document], fields: FieldMap | None = None) -> NumberedChunks:
    """Make a chunk store of documents that a text splitter made, in the splitter's order.

    Pieces of one source are numbered by their `chunk_id` or `chunk_index` where they have one, else in the order given.
    `start_index` (the splitter's `add_start_index=True`) makes their places in the source exact.

    Parameters
    ----------
    documents : pieces of any number of sources
    fields : names of metadata, where they differ from the usual ones

    Raises
    ------
    ChunkError
        If only some pieces name a source, or only some pieces of a source have a number.
    StoreError
        If two pieces of a source have the same number and different texts.
    """
    names = fields or FieldMap()
    return number_passages(read_document(document, names) for document in documents)


def read_document(document: Document, names: FieldMap) -> Passage:
    """Return a Document without its framework."""
    metadata = {key: value for key, value in document.metadata.items() if key != SCORE_KEY}
    score = document.metadata.get(SCORE_KEY)
    # Qdrant's integration keeps the id among the metadata
    id = document.id if document.id is not None else metadata.get("_id")
    return read_passage(document.page_content, metadata, names, id=None if id is None else str(id), score=score)


def as_store(given: Any, names: FieldMap | None) -> AnyChunkStore | None:
    """Return what is meant as a chunk store; Documents become one. Raises as `as_chunk_store` does."""
    way_out = "give the split Documents themselves, or VectorStoreChunkStore(vectors) over a vector store"
    return as_chunk_store(given, Document, lambda documents: chunk_store_from_documents(documents, names), way_out)


def all_warnings(made: Composition, placed: Placed) -> list[str]:
    """Return everything there is to warn of."""
    return [*([ALONE] if placed.alone else []), *log_warnings(made, placed)]


def documents_of(made: Composition, placed: Placed, names: FieldMap) -> list[Document]:
    """Return a Document for each span, in their order."""
    warnings = all_warnings(made, placed)
    documents = []
    for span in made.spans:
        metadata = span_metadata(span, placed, names)
        if "doc_id" in metadata:
            metadata.setdefault("source", metadata["doc_id"])  # LangChain's chains with sources ask for it
        documents.append(Document(page_content=span.text, metadata=metadata, id=span_id(span, placed)))
    if warnings and documents:
        documents[0].metadata["warnings"] = warnings
    return documents
