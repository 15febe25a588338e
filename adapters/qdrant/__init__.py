"""Qdrant: chunk store and retriever over an existing collection."""

from .store import (
    QDRANT_LAYOUTS,
    FieldMap,
    QdrantChunkStore,
    QdrantCollection,
    QdrantOptions,
    QdrantRetriever,
    colon_id,
    uuid5_id,
)

__all__ = [
    "QDRANT_LAYOUTS",
    "FieldMap",
    "QdrantChunkStore",
    "QdrantCollection",
    "QdrantOptions",
    "QdrantRetriever",
    "colon_id",
    "uuid5_id",
]
