"""LlamaIndex: a retriever around any other, and a postprocessor, that return whole passages within a budget."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("llamaindex", "llama-index-core"):
    from .composer import ScopedQuery
    from .nodes import chunk_store_from_nodes
    from .retriever import RetriVexPostprocessor, RetriVexRetriever
    from .stores import DocstoreChunkStore, DocstoreParentStore, VectorStoreChunkStore

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
