"""Chroma: chunk store and retriever over an existing collection."""

from .store import (
    CHROMA_LAYOUTS,
    ChromaChunkStore,
    ChromaCollection,
    ChromaOptions,
    ChromaRetriever,
    FieldMap,
    colon_id,
    uuid5_id,
)

__all__ = [
    "CHROMA_LAYOUTS",
    "ChromaChunkStore",
    "ChromaCollection",
    "ChromaOptions",
    "ChromaRetriever",
    "FieldMap",
    "colon_id",
    "uuid5_id",
]
