"""Haystack: a chunk store over an existing document store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from retrivex.adapters.base.collection import ByIds, ByWindows, Request, Scopes
from retrivex.adapters.base.documents import Passage
from retrivex.adapters.base.fields import LAYOUTS, FieldMap, MakeId
from retrivex.adapters.base.framework_collection import FrameworkCollection
from retrivex.adapters.base.store import VectorChunkStore
from retrivex.errors import StoreError, install_hint
from retrivex.model.window import Window
from retrivex.timeouts import in_thread

from .documents import read_document

try:
    from haystack import Document
    from haystack.document_stores.types import DocumentStore
except ImportError as error:
    raise ImportError(f"retrivex.adapters.haystack needs haystack-ai: {install_hint('haystack')}") from error


class DocumentStoreChunkStore(VectorChunkStore):
    """Fetches neighbours from any document store: one `filter_documents` for all hits of a question.

    Parameters
    ----------
    document_store : any that knows Haystack's filters
    make_id : `(doc_id, n) -> id`, where the Documents' ids were made so. None asks by `source_id` and `split_id`, which
        Haystack's splitters write.
    fields : names of metadata, where they differ from Haystack's own; filters use the first names of
        document and number, and the others where nothing is found under these
    retries, batch_limit : see `VectorChunkStore`

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
        retries: int = 2,
        batch_limit: int | None = None,
    ) -> None:
        if not callable(getattr(document_store, "filter_documents", None)):
            raise StoreError(
                f"document_store is {type(document_store).__name__}: it must be a document store of Haystack, with "
                "filter_documents"
            )
        names = fields or LAYOUTS["haystack"]
        filter_async = getattr(document_store, "filter_documents_async", None)

        def ask(request: Request, under: Sequence[FieldMap] = (names,)) -> list[Passage]:
            return _passages(document_store.filter_documents(_filters(request, under)), names)

        async def aask(request: Request, under: Sequence[FieldMap] = (names,)) -> list[Passage]:
            if filter_async is None:
                return await in_thread(partial(ask, request, under))
            return _passages(await filter_async(_filters(request, under)), names)

        collection = FrameworkCollection(type(document_store).__name__, names, ask, aask, by_name=True)
        super().__init__(collection, make_id=make_id, retries=retries, batch_limit=batch_limit)


def _passages(documents: Iterable[Document], names: FieldMap) -> list[Passage]:
    return [read_document(document, names) for document in documents]


def _filters(request: Request, under: Sequence[FieldMap]) -> dict[str, Any]:
    assert isinstance(request, (ByIds, ByWindows))
    if isinstance(request, ByIds):
        wanted = _condition("id", "in", list(request.ids))
    else:
        wanted = _join_any([_filter_window(window, names) for names in under for window in request.windows])
    scopes = _may_see(request.scopes, under[0])
    return wanted if scopes is None else _join_all([scopes, wanted])


def _filter_window(window: Window, names: FieldMap) -> dict[str, Any]:
    number = f"meta.{names.chunk_id[0]}"
    return _join_all(
        [
            _condition(f"meta.{names.doc_id[0]}", "==", window.doc_id),
            _condition(number, ">=", window.start),
            _condition(number, "<", window.end),
        ]
    )


def _may_see(scopes: Scopes, names: FieldMap) -> dict[str, Any] | None:
    named = sorted(scope for scope in scopes if scope is not None)
    if len(named) < len(scopes) or not named or len(names.scope) != 1:
        return None
    return _condition(f"meta.{names.scope[0]}", "in", named)


def _condition(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


def _join_any(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return conditions[0] if len(conditions) == 1 else {"operator": "OR", "conditions": conditions}


def _join_all(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"operator": "AND", "conditions": conditions}
