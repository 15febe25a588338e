"""LangChain: a document transformer that orders documents for a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document

from retrivex.model.fields import FieldNames
from retrivex.reorder import Reorderer, ReorderResult
from retrivex.reorder.options import Strategy

from ..base.fields import FieldMap
from ..base.logs import log_once


class RetriVexReorder(BaseDocumentTransformer):
    """Orders documents by the strategies of `retrivex.Reorderer`; by default the best stand at both ends.

    The very Documents that were given come back, fewer where an option says so. Their scores are those in the metadata,
    if every one has one; otherwise they are taken to come best first.

    Parameters
    ----------
    strategy : `edge_balanced`, `document_edges`, `best_last`, ...
    fields : names of metadata, where they differ from the usual ones; a name counts where every document has it
    options : of `Reorderer`, such as `top_k`, `max_tokens`, `deduplicate`

    Raises
    ------
    ConfigError
        If an option does not exist or breaks its rule.

    Examples
    --------
    >>> from langchain_core.documents import Document
    >>> found = [Document(text) for text in ("best", "second", "third", "fourth", "fifth")]
    >>> [document.page_content for document in RetriVexReorder().transform_documents(found)]
    ['best', 'third', 'fifth', 'fourth', 'second']
    """

    def __init__(self, strategy: Strategy = "edge_balanced", fields: FieldMap | None = None, **options: Any) -> None:
        self._names = fields or FieldMap()
        # a date in words among the metadata is no reason to stop: what cannot be used is said, and left out
        self._reorderer = Reorderer(**{"strategy": strategy, "validation": "coerce", **options})

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Return the documents in order; `query=`, and options for this call, may be given."""
        given = {**kwargs, "fields": self._fields(documents)}
        return _log_and_unwrap(self._reorderer.reorder_with_diagnostics(documents, given.pop("query", None), **given))

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Do the same; a reranker is awaited."""
        given = {**kwargs, "fields": self._fields(documents)}
        return _log_and_unwrap(
            await self._reorderer.areorder_with_diagnostics(documents, given.pop("query", None), **given)
        )

    def _fields(self, documents: Sequence[Document]) -> FieldNames:
        names = self._names
        score = next((key for key in names.score if all(_is_number(d.metadata.get(key)) for d in documents)), None)
        known: dict[str, Any] = {
            "source_id": _find_common_key(documents, names.doc_id),
            "section_index": _find_common_key(documents, (*names.chunk_id, *names.char_start)),
            "timestamp": names.timestamp[0] if names.timestamp else None,
            "page": names.page[0] if names.page else None,
        }
        return FieldNames(
            id=None, text="page_content", score=None if score is None else f"metadata.{score}",
            **{name: key for name, key in known.items() if key is not None},
        )  # fmt: skip


def _find_common_key(documents: Sequence[Document], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if all(document.metadata.get(key) is not None for document in documents)), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _log_and_unwrap(result: ReorderResult[Document]) -> list[Document]:
    for warning in result.diagnostics.warnings:
        log_once(warning)
    return result.passages
