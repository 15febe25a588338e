"""LangChain: chunk stores over an existing vector store, a key-value store, or a custom search."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import ByIds, Scopes
from ..base.fields import FieldMap, MakeId, colon_id
from ..base.framework_collection import FrameworkChunkStore, Translation
from .documents import read_document

Search: TypeAlias = Callable[[Sequence[Window], Scopes], Iterable[Document]]
ASearch: TypeAlias = Callable[[Sequence[Window], Scopes], Awaitable[Iterable[Document]]]


class VectorStoreChunkStore(FrameworkChunkStore):
    """Fetches neighbours from a vector store by their ids: one `get_by_ids` for all hits of a question.

    Parameters
    ----------
    vectorstore : any LangChain vector store that has `get_by_ids`
    make_id : `(doc_id, n) -> id`, as the ids were made when the pieces were added
    fields : names of metadata, where they differ from the usual ones
    options : `retries` and `batch_limit`, see `VectorChunkStore`

    Raises
    ------
    StoreError
        If the vector store has no `get_by_ids`, or an argument breaks its rule.

    Notes
    -----
    A vector store is not asked to filter ids by scope: what the caller may not see is left out when it comes.

    Examples
    --------
    Ids that follow from source and number, given once when the store is filled::

        vectors.add_documents(pieces, ids=[colon_id(p.metadata["source"], p.metadata["chunk_id"]) for p in pieces])
        RetriVexRetriever(vectors.as_retriever(), config, chunk_store=VectorStoreChunkStore(vectors))
    """

    def __init__(
        self, vectorstore: VectorStore, make_id: MakeId = colon_id, *, fields: FieldMap | None = None, **options: Any
    ) -> None:
        kind = type(vectorstore)
        if not isinstance(vectorstore, VectorStore) or (
            kind.get_by_ids is VectorStore.get_by_ids and kind.aget_by_ids is VectorStore.aget_by_ids
        ):
            raise StoreError(
                f"vectorstore is {kind.__name__}: it must be a LangChain vector store with get_by_ids; for others take "
                "FilteredChunkStore, or the chunk store of the vector store itself"
            )
        asked = Translation(
            kind.__name__,
            lambda request: vectorstore.get_by_ids(list(request.ids)),
            lambda request: vectorstore.aget_by_ids(list(request.ids)),
            read_document,
        )
        super().__init__(asked, fields or FieldMap(), make_id, **options)


class BaseStoreChunkStore(FrameworkChunkStore):
    """Fetches neighbours from a key-value store of Documents: one `mget` for all hits of a question.

    Parameters
    ----------
    store : a `BaseStore[str, Document]`, such as LangChain's `InMemoryStore`, or one of bytes made into one with
        `create_kv_docstore`
    make_id : `(doc_id, n) -> key`, as the keys were made when the store was filled
    fields : names of metadata, where they differ from the usual ones
    options : `retries` and `batch_limit`, see `VectorChunkStore`

    Raises
    ------
    StoreError
        If it is no such store, or an argument breaks its rule; from `fetch`: if it holds anything but Documents.
    """

    def __init__(
        self,
        store: BaseStore[str, Document],
        make_id: MakeId = colon_id,
        *,
        fields: FieldMap | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(store, BaseStore):
            raise StoreError(f"store is {type(store).__name__}: it must be a LangChain BaseStore of Documents")
        name = type(store).__name__

        async def aask(request: ByIds) -> list[Document]:
            return _by_key(name, request.ids, await store.amget(request.ids))

        asked = Translation(
            name, lambda request: _by_key(name, request.ids, store.mget(request.ids)), aask, read_document
        )
        super().__init__(asked, fields or FieldMap(), make_id, **options)


class FilteredChunkStore(FrameworkChunkStore):
    """Fetches neighbours by a metadata filter, which each vector store writes in its own language.

    Parameters
    ----------
    search : `(windows, scopes) -> Documents`, in one request: those whose source is the `doc_id` of a window and whose
        number lies from its `start` to before its `end`. `scopes` are those that the caller may see, None standing
        for pieces without one; what else is returned is left out.
    asearch : the same, awaited; without it the other is run in a thread
    fields : names of metadata, where they differ from the usual ones
    name : what warnings and errors call the store
    options : `retries` and `batch_limit`, see `VectorChunkStore`

    Examples
    --------
    Chroma, whose `get` takes a filter::

        def search(windows, scopes):
            ranges = [{"$and": [{"source": w.doc_id}, {"chunk_id": {"$gte": w.start}}, {"chunk_id": {"$lt": w.end}}]}
                      for w in windows]
            found = chroma.get(where=ranges[0] if len(ranges) == 1 else {"$or": ranges})
            return [Document(text, metadata=known) for text, known in zip(found["documents"], found["metadatas"])]
    """

    def __init__(
        self,
        search: Search,
        asearch: ASearch | None = None,
        *,
        fields: FieldMap | None = None,
        name: str = "search",
        **options: Any,
    ) -> None:
        if not callable(search) or not (asearch is None or callable(asearch)):
            raise StoreError(f"search is {type(search).__name__}: it must be a function (windows, scopes) -> Documents")
        asked: Translation[Document] = Translation(
            name,
            lambda request: search(request.windows, request.scopes),
            None if asearch is None else lambda request: asearch(request.windows, request.scopes),
            read_document,
        )
        super().__init__(asked, fields or FieldMap(), **options)


def _by_key(name: str, keys: Sequence[str], values: Sequence[Any]) -> list[Document]:
    """Return values of a key-value store; a Document's key is its id there, whatever it calls itself."""
    kinds = {type(value).__name__ for value in values if value is not None and not isinstance(value, Document)}
    if kinds:
        raise StoreError(
            f"{name} holds {', '.join(sorted(kinds))}: it must hold Documents; wrap a store of bytes with "
            "create_kv_docstore"
        )
    found = zip(keys, values, strict=True)
    return [document.model_copy(update={"id": key}) for key, document in found if document is not None]
