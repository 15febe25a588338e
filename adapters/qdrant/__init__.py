"""Qdrant: chunk store and retriever over an existing collection."""

from ..base.clients import needs_client
from ..base.fields import FieldMap, colon_id, uuid5_id

with needs_client("qdrant", "qdrant-client"):
    from .store import QDRANT_LAYOUTS, QdrantChunkStore, QdrantCollection, QdrantRetriever

__all__ = [
    "QDRANT_LAYOUTS",
    "FieldMap",
    "QdrantChunkStore",
    "QdrantCollection",
    "QdrantRetriever",
    "colon_id",
    "uuid5_id",
]
