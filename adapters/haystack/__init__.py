"""Haystack: a retriever around any other, and a ranker, that return whole passages within a token budget."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("haystack", "haystack-ai"):
    from .components import RetriVexRanker, RetriVexRetriever
    from .documents import chunk_store_from_documents
    from .stores import DocumentStoreChunkStore

__all__ = [
    "DocumentStoreChunkStore",
    "FieldMap",
    "RetriVexRanker",
    "RetriVexRetriever",
    "chunk_store_from_documents",
    "colon_id",
    "uuid5_id",
]
