"""LlamaIndex: the node store behind a retriever, where the caller names none."""

from __future__ import annotations

from typing import Any

from llama_index.core.storage.docstore import BaseDocumentStore

from retrivex.errors import StoreError

from ..base.behind import retrievers_of
from .links import NodeStore, check_node_store


def find_behind(base: Any) -> NodeStore | None:
    """Return where the nodes of a retriever's index are: its vector store if that keeps texts, else its docstore.

    Parameters
    ----------
    base : the retriever

    Returns
    -------
    NodeStore | None
        None where nothing is found, and where the retriever filters: neighbours may be what its filter keeps out.
    """
    for retriever in retrievers_of(base):
        if getattr(retriever, "_filters", None) is not None:
            return None
        index = getattr(retriever, "_index", None)
        for store in (getattr(index, "vector_store", None), getattr(index, "docstore", None)):
            if _keeps_nodes(store):
                return store
    return None


def _keeps_nodes(store: Any) -> bool:
    if isinstance(store, BaseDocumentStore):
        return True
    try:
        check_node_store(store)
    except StoreError:
        return False
    return True
