"""Haystack: a retriever around any other, and a ranker, that return whole passages within a token budget."""

from .components import (
    DocumentStoreChunkStore,
    FieldMap,
    RetriVexRanker,
    RetriVexRetriever,
    chunk_store_from_documents,
    colon_id,
    uuid5_id,
)

__all__ = [
    "DocumentStoreChunkStore",
    "FieldMap",
    "RetriVexRanker",
    "RetriVexRetriever",
    "chunk_store_from_documents",
    "colon_id",
    "uuid5_id",
]
