"""Haystack: converts Documents to passages and spans to Documents, and options to and from saved pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from haystack import Document

from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig, check_config
from retrivex.errors import StoreError

from ..base.documents import NumberedChunks, Passage, number_passages, read_passage
from ..base.fields import LAYOUTS, FieldMap, LayoutName, field_map
from ..base.hits import Placed
from ..base.results import span_id, span_metadata


def read_document(document: Document, names: FieldMap) -> Passage:
    """Return a Document without its framework; one without text has an empty one."""
    return read_passage(
        document.content or "", document.meta, names, id=document.id, score=document.score, embedding=document.embedding
    )


def chunk_store_from_documents(documents: Iterable[Document], fields: FieldMap | None = None) -> NumberedChunks:
    """Make a chunk store of Documents that a splitter made, by `source_id` and `split_id`.

    Parameters
    ----------
    documents : pieces of any number of sources
    fields : names of metadata, where they differ from Haystack's own

    Raises
    ------
    ChunkError
        If only some pieces name a source, or only some pieces of a source have a number.
    StoreError
        If two pieces of a source have the same number and different texts.
    """
    names = fields or LAYOUTS["haystack"]
    return number_passages(read_document(document, names) for document in documents)


def documents_of(made: Composition, placed: Placed, names: FieldMap) -> list[Document]:
    """Return a Document for each span, in their order."""
    return [
        Document(
            id=span_id(span, placed),
            content=span.text,
            meta=span_metadata(span, placed, names),
            score=float(span.score),
        )
        for span in made.spans
    ]


def as_fields(given: FieldMap | LayoutName | Mapping[str, Any]) -> FieldMap:
    """Return the names that are meant: a FieldMap, a layout's name, or what `saved_fields` made."""
    return FieldMap(**given) if isinstance(given, Mapping) else field_map(given)


def saved_fields(names: FieldMap) -> str | dict[str, Any]:
    """Return names as a saved pipeline has them."""
    if names == LAYOUTS["haystack"]:
        return "haystack"
    return {name: list(keys) if isinstance(keys, tuple) else keys for name, keys in asdict(names).items()}


def as_config(given: RetrievalConfig | Mapping[str, Any] | None) -> RetrievalConfig:
    """Return the options that are meant, also out of a mapping."""
    return RetrievalConfig.model_validate(given) if isinstance(given, Mapping) else check_config(given)


def saved_config(config: RetrievalConfig) -> dict[str, Any]:
    """Return options as a saved pipeline has them: those that do not follow by default.

    Raises
    ------
    StoreError
        If one of them is a function, which no file can hold.
    """
    functions = [name for name, value in config if callable(value)]
    if functions:
        raise StoreError(f"{', '.join(functions)} is a function: a pipeline with it cannot be saved; leave it out")
    saved = config.model_dump(mode="json", exclude_defaults=True, exclude={"pool_factor"})
    # its default follows from the other options
    if RetrievalConfig.model_validate(saved).pool_factor != config.pool_factor:
        saved["pool_factor"] = config.pool_factor
    return saved
