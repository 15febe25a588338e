"""Weaviate: chunk store and retriever over an existing collection."""

from .store import (
    WEAVIATE_LAYOUTS,
    FieldMap,
    WeaviateChunkStore,
    WeaviateCollection,
    WeaviateRetriever,
)

__all__ = [
    "WEAVIATE_LAYOUTS",
    "FieldMap",
    "WeaviateChunkStore",
    "WeaviateCollection",
    "WeaviateRetriever",
]
