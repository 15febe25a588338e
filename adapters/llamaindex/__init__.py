"""LlamaIndex: a retriever around any other, and a postprocessor, that return whole passages within a budget."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .composer import ScopedQuery
    from .nodes import chunk_store_from_nodes
    from .retriever import RetriVexPostprocessor, RetriVexRetriever
    from .stores import DocstoreChunkStore, DocstoreParentStore, VectorStoreChunkStore
except ImportError as error:
    raise ImportError(f"retrivex.adapters.llamaindex needs llama-index-core: {install_hint('llamaindex')}") from error

__all__ = [
    "DocstoreChunkStore",
    "DocstoreParentStore",
    "FieldMap",
    "RetriVexPostprocessor",
    "RetriVexRetriever",
    "ScopedQuery",
    "VectorStoreChunkStore",
    "chunk_store_from_nodes",
    "colon_id",
    "uuid5_id",
]
