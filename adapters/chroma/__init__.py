"""Chroma: neighbours and hits out of a collection that exists already."""

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
