"""LlamaIndex: a retriever around any other, and a postprocessor, that return whole passages within a budget."""

from .retriever import (
    DocstoreChunkStore,
    DocstoreParentStore,
    FieldMap,
    RetriVexPostprocessor,
    RetriVexRetriever,
    ScopedQuery,
    VectorStoreChunkStore,
    chunk_store_from_nodes,
    colon_id,
    uuid5_id,
)

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
