"""LlamaIndex: the node store behind a retriever, where the caller names none."""

from __future__ import annotations

from typing import Any

from llama_index.core.storage.docstore import BaseDocumentStore

from retrivex.errors import StoreError

from ..base.behind import kind_of, leaves_of
from .links import NodeStore, check_node_store

_INNER = {"llama_index.QueryFusionRetriever": "_retrievers", "llama_index.AutoMergingRetriever": "_vector_retriever"}
_OF_INDEXES = ("llama_index.VectorIndexRetriever", "llama_index.SummaryIndexRetriever")
_BY_WORDS = "llama_index.BM25Retriever"
_FILTERS = ("_filters", "_doc_ids", "_kwargs", "corpus_weight_mask")


def find_behind(base: Any) -> NodeStore | None:
    """Return where the nodes of a retriever's index are: its vector store if that keeps texts, else its docstore.

    Those of an `AutoMergingRetriever` are in the docstore out of which it takes parents.

    Parameters
    ----------
    base : the retriever

    Returns
    -------
    NodeStore | None
        None where nothing is found, and where `keeps_back`.
    """
    leaves = leaves_of(base, _INNER)
    if keeps_back(base):
        return None
    indexes = [leaf._index for leaf in leaves if kind_of(leaf) != _BY_WORDS]
    stores = [getattr(index, name, None) for index in indexes for name in ("vector_store", "docstore")]
    parents = getattr(getattr(base, "_storage_context", None), "docstore", None)
    return next(filter(_keeps_nodes, [parents, *stores]), None)


def keeps_back(base: Any) -> bool:
    """Whether a retriever may keep nodes back, by a filter or in a way of its own: neighbours may be among them."""
    return not all(map(_shows_all, leaves_of(base, _INNER)))


def _shows_all(retriever: Any) -> bool:
    if kind_of(retriever) not in (*_OF_INDEXES, _BY_WORDS) or any(getattr(retriever, name, None) for name in _FILTERS):
        return False
    named = getattr(retriever, "_node_ids", None)  # `as_retriever` names all nodes of an index in memory
    return not named or set(named) >= {*getattr(retriever._index.index_struct, "nodes_dict", {}).values()}


def _keeps_nodes(store: Any) -> bool:
    if isinstance(store, BaseDocumentStore):
        return True
    try:
        check_node_store(store)
    except StoreError:
        return False
    return True
