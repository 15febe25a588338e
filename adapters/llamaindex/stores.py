"""LlamaIndex: chunk and parent stores over an existing docstore or vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from retrivex.errors import StoreError
from retrivex.model.chunk import Scope, allowed_scopes
from retrivex.model.window import Window

from ..base.collection import ByIds, ByWindows
from ..base.fields import FieldMap, MakeId, colon_id
from ..base.framework_collection import FrameworkChunkStore, Translation, named_scopes
from .links import check_node_store, is_async, with_ids
from .nodes import read_node


class DocstoreChunkStore(FrameworkChunkStore):
    """Fetches neighbours from a docstore by their ids: one `get_nodes` for all hits of a question.

    Parameters
    ----------
    docstore : of LlamaIndex
    make_id : `(doc_id, n) -> node id`, as the ids were made when the nodes were
    fields : names of metadata, where they differ from the usual ones
    options : `retries` and `batch_limit`, see `VectorChunkStore`

    Raises
    ------
    StoreError
        If an argument breaks its rule.

    Notes
    -----
    LlamaIndex's docstores answer one `get_nodes` with a look-up for every node inside; where that is a server, its
    vector store is faster.
    """

    def __init__(
        self, docstore: BaseDocumentStore, make_id: MakeId = colon_id, *, fields: FieldMap | None = None, **options: Any
    ) -> None:
        _check_docstore(docstore)
        asked = Translation(
            type(docstore).__name__,
            lambda request: docstore.get_nodes(**with_ids(docstore, request.ids)),
            lambda request: docstore.aget_nodes(**with_ids(docstore, request.ids)),
            read_node,
        )
        super().__init__(asked, fields or FieldMap(), make_id, **options)


class VectorStoreChunkStore(FrameworkChunkStore):
    """Fetches neighbours from a vector store, by ids or by a filter: one `get_nodes` for all hits of a question.

    Parameters
    ----------
    vector_store : of LlamaIndex, with `get_nodes`
    make_id : `(doc_id, n) -> node id`, where the ids were made so. None asks with filters on the document and the chunk
        number, which then has to be in the metadata: LlamaIndex writes none by itself.
    fields : names of metadata, where they differ from the usual ones; filters use the first names of
        document and number
    options : `retries` and `batch_limit`, see `VectorChunkStore`

    Raises
    ------
    StoreError
        If it is no vector store that keeps texts and has `get_nodes`, or another argument breaks its rule.

    Notes
    -----
    Filters are MetadataFilters nested once, for each document and window one, and a scope where the caller names some;
    not every vector store knows nested ones. By ids, and without a scope, what the caller may not see is left out when
    it comes.
    """

    def __init__(
        self,
        vector_store: BasePydanticVectorStore,
        make_id: MakeId | None = None,
        *,
        fields: FieldMap | None = None,
        **options: Any,
    ) -> None:
        check_node_store(vector_store)
        names = fields or FieldMap()

        def arguments(request: ByIds | ByWindows) -> dict[str, Any]:
            if isinstance(request, ByIds):
                return with_ids(vector_store, request.ids)
            return {"filters": _filters(request, names)}

        asked: Translation[BaseNode] = Translation(
            type(vector_store).__name__,
            lambda request: vector_store.get_nodes(**arguments(request)),
            (lambda request: vector_store.aget_nodes(**arguments(request))) if is_async(vector_store) else None,
            read_node,
        )
        super().__init__(asked, names, make_id, **options)


class DocstoreParentStore:
    """Fetches parents from a docstore, as `HierarchicalNodeParser` writes them, for `return_parents="auto"`.

    Parameters
    ----------
    docstore : of LlamaIndex, which holds the parents too
    fields : names of metadata, where they differ from the usual ones

    Raises
    ------
    StoreError
        If it is no docstore.
    """

    def __init__(self, docstore: BaseDocumentStore, fields: FieldMap | None = None) -> None:
        self._docstore = _check_docstore(docstore)
        self._fields = fields or FieldMap()

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> dict[str, str]:
        """Return the texts of the parents that exist and `scope` may see, in one `get_nodes`."""
        allowed = allowed_scopes(scope)
        nodes = self._docstore.get_nodes(**with_ids(self._docstore, parent_ids))
        return {
            node.node_id: node.get_content(metadata_mode=MetadataMode.NONE)
            for node in nodes
            if self._fields.scope_of(node.metadata) in allowed
        }


def _check_docstore(docstore: object) -> BaseDocumentStore:
    if not isinstance(docstore, BaseDocumentStore):
        raise StoreError(f"docstore is {type(docstore).__name__}: it must be a docstore of LlamaIndex")
    return docstore


def _filters(request: ByWindows, names: FieldMap) -> MetadataFilters:
    inside = MetadataFilters(
        filters=[_filter_window(window, names) for window in request.windows], condition=FilterCondition.OR
    )
    scopes = named_scopes(request.scopes, names)
    if scopes is None:
        return inside
    seen = MetadataFilter(key=names.scope[0], value=scopes, operator=FilterOperator.IN)
    return MetadataFilters(filters=[seen, inside])


def _filter_window(window: Window, names: FieldMap) -> MetadataFilters:
    doc_id, chunk_id = names.doc_id[0], names.chunk_id[0]
    return MetadataFilters(
        filters=[
            MetadataFilter(key=doc_id, value=window.doc_id),
            MetadataFilter(key=chunk_id, value=window.start, operator=FilterOperator.GTE),
            MetadataFilter(key=chunk_id, value=window.end - 1, operator=FilterOperator.LTE),
        ]
    )
