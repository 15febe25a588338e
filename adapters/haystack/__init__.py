"""Haystack: a retriever around any other one, and a ranker, which return whole passages inside a token budget."""

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
