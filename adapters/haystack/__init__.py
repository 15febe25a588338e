"""Haystack: a retriever around any other, and a ranker, that return whole passages within a token budget."""

from retrivex.errors import install_hint

from ..base.fields import FieldMap, colon_id, uuid5_id

try:
    from .components import RetriVexRanker, RetriVexRetriever
    from .documents import chunk_store_from_documents
    from .stores import DocumentStoreChunkStore
except ImportError as error:
    raise ImportError(f"retrivex.adapters.haystack needs haystack-ai: {install_hint('haystack')}") from error

__all__ = [
    "DocumentStoreChunkStore",
    "FieldMap",
    "RetriVexRanker",
    "RetriVexRetriever",
    "chunk_store_from_documents",
    "colon_id",
    "uuid5_id",
]
