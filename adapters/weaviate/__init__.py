"""Weaviate: neighbours and hits out of a collection that exists already."""

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
