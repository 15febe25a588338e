"""Haystack: a chunk store over an existing document store."""

from __future__ import annotations

from typing import Any

from haystack import Document
from haystack.document_stores.types import DocumentStore

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import ByIds, ByWindows
from ..base.fields import LAYOUTS, FieldMap, MakeId
from ..base.framework_collection import FrameworkChunkStore, Translation, named_scopes
from .documents import read_document


class DocumentStoreChunkStore(FrameworkChunkStore):
    """Fetches neighbours from any document store: one `filter_documents` for all hits of a question.

    Parameters
    ----------
    document_store : any that knows Haystack's filters
    make_id : `(doc_id, n) -> id`, where the Documents' ids were made so. None asks by `source_id` and `split_id`, which
        Haystack's splitters write.
    fields : names of metadata, where they differ from Haystack's own; filters use the first names of
        document and number
    options : `retries` and `batch_limit`, see `VectorChunkStore`

    Raises
    ------
    StoreError
        If it is no document store, or another argument breaks its rule.

    Notes
    -----
    A scope is part of the filter where the caller names all that he may see; without one, what has a scope is left out
    when it comes, as not every document store can be asked for what lacks a field. A document store with
    `filter_documents_async` is awaited, another one is asked in a thread.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        make_id: MakeId | None = None,
        *,
        fields: FieldMap | None = None,
        **options: Any,
    ) -> None:
        if not callable(getattr(document_store, "filter_documents", None)):
            raise StoreError(
                f"document_store is {type(document_store).__name__}: it must be a document store of Haystack, with "
                "filter_documents"
            )
        names = fields or LAYOUTS["haystack"]
        filter_async = getattr(document_store, "filter_documents_async", None)
        asked: Translation[Document] = Translation(
            type(document_store).__name__,
            lambda request: document_store.filter_documents(_filters(request, names)),
            None if filter_async is None else lambda request: filter_async(_filters(request, names)),
            read_document,
        )
        super().__init__(asked, names, make_id, **options)


def _filters(request: ByIds | ByWindows, names: FieldMap) -> dict[str, Any]:
    if isinstance(request, ByIds):
        wanted = _condition("id", "in", list(request.ids))
    else:
        wanted = _join_any([_filter_window(window, names) for window in request.windows])
    scopes = named_scopes(request.scopes, names)
    if scopes is None:
        return wanted
    return _join_all([_condition(f"meta.{names.scope[0]}", "in", scopes), wanted])


def _filter_window(window: Window, names: FieldMap) -> dict[str, Any]:
    number = f"meta.{names.chunk_id[0]}"
    return _join_all(
        [
            _condition(f"meta.{names.doc_id[0]}", "==", window.doc_id),
            _condition(number, ">=", window.start),
            _condition(number, "<", window.end),
        ]
    )


def _condition(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def _join_any(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return conditions[0] if len(conditions) == 1 else {"operator": "OR", "conditions": conditions}


def _join_all(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"operator": "AND", "conditions": conditions}
