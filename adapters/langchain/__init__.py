"""LangChain: a retriever around any other, a compressor and a reorderer, within a token budget."""

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
