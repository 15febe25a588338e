"""LlamaIndex: chunk and parent stores over an existing docstore or vector store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from retrivex.adapters.base.collection import ByIds, ByWindows, Request, Scopes
from retrivex.adapters.base.documents import Passage
from retrivex.adapters.base.fields import FieldMap, MakeId, colon_id
from retrivex.adapters.base.framework_collection import FrameworkCollection
from retrivex.adapters.base.store import VectorChunkStore
from retrivex.errors import StoreError, install_hint
from retrivex.model.chunk import Scope, allowed_scopes
from retrivex.model.window import Window
from retrivex.timeouts import in_thread

from .links import aget_nodes, check_node_store, get_nodes, is_async
from .nodes import read_node

try:
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.storage.docstore import BaseDocumentStore
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )
except ImportError as error:
    raise ImportError(f"retrivex.adapters.llamaindex needs llama-index-core: {install_hint('llamaindex')}") from error


class DocstoreChunkStore(VectorChunkStore):
    """Fetches neighbours from a docstore by their ids: one `get_nodes` for all hits of a question.

    Parameters
    ----------
    docstore : of LlamaIndex
    make_id : `(doc_id, n) -> node id`, as the ids were made when the nodes were
    fields : names of metadata, where they differ from the usual ones
    retries, batch_limit : see `VectorChunkStore`

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
        self,
        docstore: BaseDocumentStore,
        make_id: MakeId = colon_id,
        *,
        fields: FieldMap | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
    ) -> None:
        _check_docstore(docstore)
        names = fields or FieldMap()

        def ask(request: Request) -> list[Passage]:
            return _passages(get_nodes(docstore, _ids(request)), names)

        async def aask(request: Request) -> list[Passage]:
            return _passages(await aget_nodes(docstore, _ids(request)), names)

        collection = FrameworkCollection(type(docstore).__name__, names, ask, aask)
        super().__init__(collection, make_id=make_id, retries=retries, batch_limit=batch_limit)


class VectorStoreChunkStore(VectorChunkStore):
    """Fetches neighbours from a vector store, by ids or by a filter: one `get_nodes` for all hits of a question.

    Parameters
    ----------
    vector_store : of LlamaIndex, with `get_nodes`
    make_id : `(doc_id, n) -> node id`, where the ids were made so. None asks with filters on the document and the chunk
        number, which then has to be in the metadata: LlamaIndex writes none by itself.
    fields : names of metadata, where they differ from the usual ones; filters use the first names of
        document and number, and the others where nothing is found under these
    retries, batch_limit : see `VectorChunkStore`

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
        retries: int = 2,
        batch_limit: int | None = None,
    ) -> None:
        check_node_store(vector_store)
        names = fields or FieldMap()

        def get(request: Request, under: Sequence[FieldMap]) -> list[BaseNode]:
            if isinstance(request, ByIds):
                return get_nodes(vector_store, request.ids)
            return vector_store.get_nodes(filters=_filters(request, under))

        async def aget(request: Request, under: Sequence[FieldMap]) -> list[BaseNode]:
            if isinstance(request, ByIds):
                return await aget_nodes(vector_store, request.ids)
            if is_async(vector_store):
                return await vector_store.aget_nodes(filters=_filters(request, under))
            return await in_thread(partial(get, request, under))

        def ask(request: Request, under: Sequence[FieldMap] = ()) -> list[Passage]:
            return _passages(get(request, under), names)

        async def aask(request: Request, under: Sequence[FieldMap] = ()) -> list[Passage]:
            return _passages(await aget(request, under), names)

        collection = FrameworkCollection(type(vector_store).__name__, names, ask, aask, by_name=True)
        super().__init__(collection, make_id=make_id, retries=retries, batch_limit=batch_limit)


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
        nodes = get_nodes(self._docstore, parent_ids)
        return {
            node.node_id: node.get_content(metadata_mode=MetadataMode.NONE)
            for node in nodes
            if self._scope(node) in allowed
        }

    def _scope(self, node: BaseNode) -> str | None:
        scope = self._fields.read(node.metadata, "scope")
        return None if scope is None else str(scope)


def _check_docstore(docstore: object) -> BaseDocumentStore:
    if not isinstance(docstore, BaseDocumentStore):
        raise StoreError(f"docstore is {type(docstore).__name__}: it must be a docstore of LlamaIndex")
    return docstore


def _ids(request: Request) -> tuple[str, ...]:
    assert isinstance(request, ByIds)  # what a store with make_id asks for
    return request.ids


def _passages(nodes: Iterable[BaseNode], names: FieldMap) -> list[Passage]:
    return [read_node(node, names) for node in nodes]


def _filters(request: Request, under: Sequence[FieldMap]) -> MetadataFilters:
    assert isinstance(request, ByWindows)
    inside = MetadataFilters(
        filters=[_filter_window(window, names) for names in under for window in request.windows],
        condition=FilterCondition.OR,
    )
    scopes = _may_see(request.scopes, under[0])
    return inside if scopes is None else MetadataFilters(filters=[scopes, inside])


def _filter_window(window: Window, names: FieldMap) -> MetadataFilters:
    doc_id, chunk_id = names.doc_id[0], names.chunk_id[0]
    return MetadataFilters(
        filters=[
            MetadataFilter(key=doc_id, value=window.doc_id),
            MetadataFilter(key=chunk_id, value=window.start, operator=FilterOperator.GTE),
            MetadataFilter(key=chunk_id, value=window.end - 1, operator=FilterOperator.LTE),
        ]
    )


def _may_see(scopes: Scopes, names: FieldMap) -> MetadataFilter | None:
    named = sorted(scope for scope in scopes if scope is not None)
    if len(named) < len(scopes) or not named or len(names.scope) != 1:
        # that a field is missing is nothing that every store can be asked, and several names may hold it
        return None
    return MetadataFilter(key=names.scope[0], value=named, operator=FilterOperator.IN)
