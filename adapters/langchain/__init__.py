"""LangChain: a retriever around any other one, which returns whole passages inside a token budget."""

from .retriever import (
    BaseStoreChunkStore,
    FieldMap,
    FilteredChunkStore,
    RetriVexCompressor,
    RetriVexReorder,
    RetriVexRetriever,
    VectorStoreChunkStore,
    chunk_store_from_documents,
    colon_id,
    uuid5_id,
)

__all__ = [
    "BaseStoreChunkStore",
    "FieldMap",
    "FilteredChunkStore",
    "RetriVexCompressor",
    "RetriVexReorder",
    "RetriVexRetriever",
    "VectorStoreChunkStore",
    "chunk_store_from_documents",
    "colon_id",
    "uuid5_id",
]
